#!/usr/bin/python3
# docs/nosv_man.py - man pages of the tasking API, made from its headers.  SPDX-License-Identifier: Apache-2.0
"""usage: nosv_man.py --list HEADER...        names of the files that are made, one a line
          nosv_man.py FOLDER HEADER...        make them

A page begins at a comment with the line "==== name - what it is about ====" and has all that follows in its header up to
the next such line. Each other comment describes the declarations below it. In comments, indented lines are a list if the
first one is a word and, after two spaces or more, its text; otherwise they are kept as they are. Each function that is not
the name of a page has a file of its own, which refers to its page."""
import os
import re
import sys

COMMENT = re.compile(r"^/\*(.*?)\*/[^\n]*$", re.M | re.S)
TITLE = re.compile(r"^==== (\w+) - (.*) ====$", re.M)
END = re.compile(r"^==== end ====$", re.M)
FUNCTION = re.compile(r"^[a-z][^;{}=#]*?\b(\w+)\([^;{}]*\)(?=;|\s*\{)", re.M | re.S)
ITEM = re.compile(r"(\w[\w*]*|any thread) {2,}(\S.*)")
NOISE = re.compile(r'^(#pragma .*|#if.*|#endif.*|#include.*|extern "C" \{|\}|#define \w+_(H|DEFS_H)|)\n', re.M)


class Page:
    def __init__(self, name, about, header):
        self.name, self.about, self.header = name, about, header
        self.parts = []             # (text, declarations)

    def functions(self):
        return [f for _, code in self.parts for f in FUNCTION.findall(code)]


def pages_of(path, include):
    with open(path, encoding="ascii") as f:
        source = f.read()
    page, pages = None, []
    comments = list(COMMENT.finditer(source))
    for comment, following in zip(comments, comments[1:] + [None]):
        text = re.sub(r"^ \* ?", "", comment[1].strip(), flags=re.M)
        code = NOISE.sub("", source[comment.end() + 1:following.start() if following else len(source)])
        title = TITLE.search(text)
        if title:
            page = Page(title[1], title[2], include)
            pages.append(page)
            text = text[title.end():].strip()
        elif END.search(text):
            page = None
        if page:
            page.parts.append((text, code.strip()))
    return pages


def escaped(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def running(text):
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fP", escaped(text))


def verbatim(text):
    return [".PP", ".nf", ".RS 4", escaped(text), ".RE", ".fi"]


def indented(lines):
    if not ITEM.fullmatch(lines[0].strip()):
        return verbatim("\n".join(line[4:] for line in lines))
    out, depth = [], len(lines[0]) - len(lines[0].lstrip())
    for line in lines:
        item = ITEM.fullmatch(line.strip()) if line[depth] != " " else None
        if item:
            out += [".TP", ".B " + escaped(item[1])]
        out.append(running(item[2] if item else line.strip()))
    return out + [".PP"]


def roff(text):
    out = []
    for paragraph in text.split("\n\n"):
        lines, out = paragraph.split("\n"), out + [".PP"]
        while lines:
            count = next((i for i, line in enumerate(lines) if line.startswith("    ") != lines[0].startswith("    ")), len(lines))
            chunk, lines = lines[:count], lines[count:]
            out += indented(chunk) if chunk[0].startswith("    ") else [running(line) for line in chunk]
    return out


def described(page):
    for text, code in page.parts:
        names = FUNCTION.findall(code)
        if names and text:
            yield ".SS " + ", ".join(name + "()" for name in names)
        if text:
            yield from roff(text)
        if code and not names:
            yield from verbatim(code)


def man(page, others):
    out = ['.TH %s 3 "" "nosv 4.1" "Tasking API"' % page.name.upper(), ".nh", ".ad l", ".SH NAME"]
    aliases = [f for f in page.functions() if f != page.name]
    out += ["%s \\- %s" % (", ".join([page.name] + aliases), escaped(page.about)), ".SH SYNOPSIS", ".nf", ".B #include <%s>" % page.header, ".PP"]
    for _, code in page.parts:
        out += [".B " + escaped(re.sub(r"\s+", " ", f[0])).replace('"', '""') + ";" for f in FUNCTION.finditer(code)]
    out += [".PP", "Link with \\fI\\-lnosv\\fP.", ".fi", ".SH DESCRIPTION"]
    out += described(page)
    out += [".SH SEE ALSO"] + [".BR %s (3)," % name for name in others if name != page.name] + [".BR usf (1)"]
    lines = [line or ".PP" for text in out for line in text.split("\n")]
    # A paragraph break before a heading, a list item or another break has no effect, and the formatter says so.
    drop = (".PP", ".SH", ".SS", ".TP")
    return "".join(line + "\n" for line, after in zip(lines, lines[1:] + [""]) if line != ".PP" or not after.startswith(drop))


def main(to, *headers):
    pages = [page for path in headers for page in pages_of(path, path[path.index("include/") + 8:])]
    files = {page.name: man(page, [p.name for p in pages]) for page in pages}
    for page in pages:
        for function in page.functions():
            files.setdefault(function, ".so man3/%s.3\n" % page.name)
    for name, text in files.items():
        if to == "--list":
            print(name + ".3")
            continue
        with open(os.path.join(to, name + ".3"), "w", encoding="ascii") as f:
            f.write(text)


main(*sys.argv[1:])
