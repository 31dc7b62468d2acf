/* src/arch/x86_64/check/vectors.c - code that uses vector registers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/internal.h"

#include <Zydis/Zydis.h>

static bool is_vector(ZydisRegister r)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_X87: case ZYDIS_REGCLASS_MMX: case ZYDIS_REGCLASS_XMM: case ZYDIS_REGCLASS_YMM: case ZYDIS_REGCLASS_ZMM:
    case ZYDIS_REGCLASS_TMM: case ZYDIS_REGCLASS_MASK: return true;
    default: return false;
    }
}

size_t check_first_vector(const uint8_t *code, size_t size)
{
    ZydisDecoder d;
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t i = 0; i < size;) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d, code + i, size - i, &in, op))) {
            i++;
            continue;
        }
        for (unsigned k = 0; k < in.operand_count; k++)
            if (op[k].type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector(op[k].reg.value)) return i;
        i += in.length;
    }
    return size;
}
