#!/usr/bin/python3
# tests/blocking/test_calls.py ROOT - docs/calls.md says of every system call what the code does.  SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
import unittest

ROOT = sys.argv[1]


def text(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as f:
        return f.read()


def known():
    """Names by number, as the tool knows them."""
    return {int(nr): name for nr, name in re.findall(r'\[(\d+)\] = "(\w+)"', text('src', 'arch', 'x86_64', 'inspect', 'callname.c'))}


def handlers():
    """name -> handler, from what the sources install."""
    names, found = known(), {}
    source = {f: text(*f.split('/')) for f in ('src/gate/gate.c',) + tuple(
        'src/runtime/' + f for f in os.listdir(os.path.join(ROOT, 'src', 'runtime')) if f.endswith('.c'))}
    everything = '\n'.join(source.values())
    numbers = dict(re.findall(r'\b(NR_\w+) = (\d+)', everything))

    def name(word):
        word = word.strip()
        return word[5:] if word.startswith('__NR_') else names[int(numbers.get(word, word))]
    for code in source.values():
        for array, handler in re.findall(r'INSTALL\((\w+), (\w+)\);', code):
            members = re.search(r'\b%s\[\] = \{(.*?)\};' % array, code, re.S).group(1)
            found.update({name(m): handler for m in members.split(',') if m.strip()})
        for chain in re.findall(r'((?:usf_gate_handlers\[\w+\] = )+)(\w+);', code):
            found.update({name(m): chain[1] for m in re.findall(r'\[(\w+)\]', chain[0])})
    return found


def page():
    """(handlers of the section, its calls) ..."""
    for section in re.split(r'^## ', text('docs', 'calls.md'), flags=re.M)[1:]:
        head, _, calls = section.partition('<!--')
        named, _, calls = calls.partition('-->')
        yield head.splitlines()[0], set(named.split()), re.findall(r'`(\w+)`', calls)


class Calls(unittest.TestCase):
    def test_sources_are_understood(self):
        found = handlers()
        self.assertGreater(len(found), 150)
        self.assertEqual((found['read'], found['openat2'], found['vfork'], found['clone3']),
                         ('rt_call_may_block', 'call_path_at', 'clone_handler', 'call_clone3'))

    def test_each_call_stands_once(self):
        listed = [c for _, _, calls in page() for c in calls]
        self.assertEqual(sorted(listed), sorted(known().values()))

    def test_sections_are_true(self):
        found = handlers()
        for title, named, calls in page():
            for call in calls:
                if named:
                    self.assertIn(found.get(call), named, f'{call}, in "{title}"')
                else:
                    self.assertNotIn(call, found, f'{call}, in "{title}"')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)
