/* tests/cli/gonote.S - the note that marks what the Go linker made.  SPDX-License-Identifier: Apache-2.0 */
    .section .note.go.buildid, "a", @note
    .balign 4
    .long 4, 4, 4
    .asciz "Go"
    .byte 0
    .ascii "test"
    .section .note.GNU-stack, "", @progbits
