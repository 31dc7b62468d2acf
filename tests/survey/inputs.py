#!/usr/bin/python3
# tests/survey/inputs.py - inputs for the programs of the survey: the same bytes each time.  SPDX-License-Identifier: Apache-2.0
"""inputs.py KIND ARGUMENT... > FILE

text KB | noise KB | mixed KB | csv ROWS | json ROWS | sql ROWS | ppm WIDTH HEIGHT | wav SECONDS | dna BASES
proteins COUNT LENGTH | reads GENOME COUNT LENGTH | html LINES | markdown LINES | svg SHAPES
csources FOLDER COUNT (writes FOLDER/*.c and FOLDER/Makefile)"""
import math
import os
import random
import struct
import sys

OUT = sys.stdout.buffer
R = random.Random(14)
SYLLABLES = "ba co di fu ga he li mo nu pe ra si to ve wi xa yo zu".split()
WORDS = ["".join(R.choice(SYLLABLES) for _ in range(R.randint(1, 4))) for _ in range(5000)]


def words(n):
    return " ".join(WORDS[min(int(R.expovariate(0.002)), len(WORDS) - 1)] for _ in range(n))


def text(kb):
    left = int(kb) * 1024
    while left > 0:
        line = (words(12) + "\n").encode()[:left]
        OUT.write(line)
        left -= len(line)


def noise(kb):
    OUT.write(R.randbytes(int(kb) * 1024))


def mixed(kb):
    for _ in range(int(kb) // 64):
        OUT.write(R.randbytes(16 * 1024))
        text(48)


def csv(rows):
    OUT.write(b"id,group,name,x,y\n")
    for i in range(int(rows)):
        OUT.write(b"%d,%d,%s,%.6f,%.6f\n" % (i, R.randrange(50), R.choice(WORDS).encode(), R.random(), R.gauss(0, 10)))


def json(rows):
    OUT.write(b"[\n")
    for i in range(int(rows)):
        OUT.write(b'%s{"id": %d, "group": "%s", "x": %.6f, "tags": ["%s", "%s"]}' % (b",\n" if i else b"", i, R.choice(WORDS[:40]).encode(), R.random(),
                  R.choice(WORDS).encode(), R.choice(WORDS).encode()))
    OUT.write(b"\n]\n")


def sql(rows):
    OUT.write(b"create table t (id integer primary key, g integer, name varchar(40), x double precision);\nbegin;\n")
    for i in range(0, int(rows), 100):
        OUT.write(b"insert into t values " + b",".join(b"(%d,%d,'%s',%.6f)" % (k, R.randrange(50), R.choice(WORDS).encode(), R.random())
                  for k in range(i, min(i + 100, int(rows)))) + b";\n")
    OUT.write(b"commit;\n")


def ppm(width, height):
    w, h = int(width), int(height)
    OUT.write(b"P6\n%d %d\n255\n" % (w, h))
    for y in range(h):
        row = bytearray()
        for x in range(w):
            row += bytes((x * 255 // w, (x * y >> 6) & 255, int(127 + 127 * math.sin((x + 2 * y) / 17))))
        OUT.write(row)


def wav(seconds):
    n = int(float(seconds) * 44100)
    data = b"".join(struct.pack("<hh", int(12000 * math.sin(i / 15) + R.gauss(0, 500)), int(9000 * math.sin(i / (20 + i / 44100)))) for i in range(n))
    OUT.write(b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 2, 44100, 176400, 4, 16) + b"data" +
              struct.pack("<I", len(data)) + data)


def genome(bases):
    return "".join(random.Random(5).choices("ACGT", k=int(bases)))


def dna(bases):
    g = genome(bases)
    OUT.write(b">genome\n" + "\n".join(g[i:i + 70] for i in range(0, len(g), 70)).encode() + b"\n")


def proteins(count, length):
    """Related ones: copies of one sequence with some letters changed."""
    letters = "ACDEFGHIKLMNPQRSTVWY"
    first = R.choices(letters, k=int(length))
    for i in range(int(count)):
        s = [R.choice(letters) if R.random() < 0.25 else c for c in first]
        OUT.write(f">p{i}\n{''.join(s)}\n".encode())


def reads(bases, count, length):
    g, n = genome(bases), int(length)
    for i in range(int(count)):
        at = R.randrange(len(g) - n)
        s = "".join(R.choice("ACGT") if R.random() < 0.01 else c for c in g[at:at + n])
        OUT.write(f"@r{i}\n{s}\n+\n{'I' * n}\n".encode())


def html(lines):
    OUT.write(b"<html><head><title>survey</title></head><body><h1>Survey</h1><ul>\n")
    for i in range(int(lines)):
        OUT.write(f"<li id='i{i}'>{words(8)}</li>\n".encode())
    OUT.write(b"</ul></body></html>\n")


def markdown(lines):
    for i in range(int(lines)):
        OUT.write(f"{'## ' + words(3) + chr(10) + chr(10) if i % 20 == 0 else ''}{words(10)} *{words(1)}* `{words(1)}`\n{chr(10) if i % 5 == 4 else ''}".encode())


def svg(shapes):
    OUT.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="800" height="600">\n')
    for _ in range(int(shapes)):
        OUT.write(b'<circle cx="%d" cy="%d" r="%d" fill="#%06x" fill-opacity="0.5"/>\n' % (R.randrange(800), R.randrange(600), R.randrange(5, 80), R.randrange(1 << 24)))
    OUT.write(b"</svg>\n")


def csources(folder, count):
    os.makedirs(folder, exist_ok=True)
    n = int(count)
    for i in range(n):
        with open(f"{folder}/f{i}.c", "w") as f:
            f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n")
            for k in range(12):
                f.write(f"int f{i}_{k}(int n) {{ int s = {i * k}; for (int i = 0; i < n; i++) s = s * {k + 3} + (i ^ {i}); return s % 1000; }}\n")
    with open(f"{folder}/main.c", "w") as f:
        f.write("#include <stdio.h>\n" + "".join(f"int f{i}_3(int);\n" for i in range(n)) +
                "int main(void) { long s = 0;\n" + "".join(f"s += f{i}_3(100);\n" for i in range(n)) + 'printf("%ld\\n", s); return 0; }\n')
    with open(f"{folder}/Makefile", "w") as f:
        f.write("CC = gcc\nCFLAGS = -O2\nprog: main.o " + " ".join(f"f{i}.o" for i in range(n)) + "\n\t$(CC) -o $@ $^\n")
    with open(f"{folder}/CMakeLists.txt", "w") as f:
        f.write("cmake_minimum_required(VERSION 3.10)\nproject(survey C)\nadd_executable(prog main.c " + " ".join(f"f{i}.c" for i in range(n)) + ")\n")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in __doc__.split():
        sys.exit(__doc__)
    globals()[sys.argv[1]](*sys.argv[2:])
