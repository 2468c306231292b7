"""A C program that includes the header of `stopbit gen c` reads every capture by the C library, and its values are the
expected ones. The program is written here from the template file, accessor by accessor. Headers of hostile, projected and
referring templates compile.

usage: c_test.py STOPBIT SAMPLE_FOLDER SCRATCH_FOLDER SOURCE_FOLDER LIBRARY COMPILER [FLAG...]
"""

import decimal
import json
import os
import sys

import feed

MAIN = r"""
#include <inttypes.h>
#include <stdio.h>

#include <stopbit.h>

#include "feed.h"

static const char* before = "";
static void name(const char* text) {
  printf("%s\"%s\":", before, text);
  before = ",";
}
static void text(stopbit_text value, char kind) {
  static char bytes[65536];
  const size_t size = stopbit_text_copy(value, bytes, sizeof(bytes));
  size_t i;
  if (!stopbit_text_is(value, bytes) && strlen(bytes) == size) printf("a text is not itself: ");
  printf("[\"%c\",\"", kind);
  for (i = 0; i < size; ++i) printf("%02x", (unsigned char)bytes[i]);
  printf("\"]");
}
static void number(stopbit_decimal value) { printf("[\"d\",%" PRId64 ",%d]", value.mantissa, (int)value.exponent); }

@FUNCTIONS@
static int print(void* user, stopbit_record* record) {
  const void* slots = stopbit_record_slots(record, NULL);
  (void)user;
  if (stopbit_record_event(record) != NULL) return 0;
  if (stopbit_record_check(record) != STOPBIT_OK) {
    fprintf(stderr, "%s\n", stopbit_record_error(record));
    return 1;
  }
  before = "";
@USES@  return 2;
}

int main(int argc, char** argv) {
  stopbit_program* program = stopbit_program_new();
  stopbit_replay* replay = stopbit_replay_new();
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  const char* templates = argv[1];
  const char* capture = argv[2];
  if (argc != 4 || stopbit_program_compile(program, &templates, 1) != STOPBIT_OK) return 1;
  if (stopbit_program_layout_hash(program) != feed_layout_hash()) {
    fprintf(stderr, "another layout\n");
    return 4;
  }
  options.framing = argv[3];
  if (stopbit_replay_open(replay, program, &capture, 1, &options) != STOPBIT_OK) return 3;
  if (stopbit_replay_run(replay, print, NULL) != STOPBIT_OK) return 5;
  stopbit_replay_free(replay);
  stopbit_program_free(program);
  return 0;
}
"""

# Of references.xml: templates within templates, at places that depend on the record.
ENVELOPE = """{"template":"Envelope","id":1,"fields":{"Seq":1,
"templateRef":{"template":"Quote","fields":{"Symbol":"LONGER THAN SEVEN","Levels":[{"Qty":5},{"Qty":6}],"Flags":3}},
"templateRef2":{"template":"Empty","fields":{}},"Sum":7,"List":[
{"templateRef":{"template":"Quote","fields":{"Symbol":"X","Levels":[],"Flags":4}}},
{"templateRef":{"template":"Envelope","fields":{"Seq":2,"templateRef":{"template":"Empty","fields":{}},
"templateRef2":{"template":"Empty","fields":{}},"Sum":8,"List":[],"End":10}}}],"End":9}}"""
ENVELOPE_PRINTED = "Seq 1 { LONGER THAN SEVEN 5 6 Flags 3 } { } Sum 7 [ { X Flags 4 } { Seq 2 { } { } Sum 8 [ ] End 10 } ] End 9\n"
ENVELOPE_FUNCTIONS = r"""
static void any(stopbit_place place);
static void quote(feed_Quote view) {
  char symbol[32];
  uint32_t i;
  feed_Quote_LevelsElement level = feed_Quote_Levels_begin(view);
  stopbit_text_copy(feed_Quote_Symbol(view), symbol, sizeof(symbol));
  printf("%s ", symbol);
  for (i = 0; i < feed_Quote_Levels_count(view); ++i, level = feed_Quote_LevelsElement_next(level)) {
    printf("%u ", (unsigned)feed_Quote_LevelsElement_Qty(level));
  }
  printf("Flags %u ", (unsigned)feed_Quote_After_Levels_Flags(feed_Quote_after_Levels(view)));
}
static void envelope(feed_Envelope view) {
  const feed_Envelope_After_templateRef second = feed_Envelope_after_templateRef(view);
  const feed_Envelope_After_templateRef_2 rest = feed_Envelope_After_templateRef_after_templateRef(second);
  feed_Envelope_After_templateRef_2_ListElement one = feed_Envelope_After_templateRef_2_List_begin(rest);
  uint32_t i;
  printf("Seq %u ", (unsigned)feed_Envelope_Seq(view));
  any(feed_Envelope_templateRef(view));
  any(feed_Envelope_After_templateRef_templateRef(second));
  printf("Sum %u [ ", (unsigned)feed_Envelope_After_templateRef_2_Sum(rest));
  for (i = 0; i < feed_Envelope_After_templateRef_2_List_count(rest); ++i) {
    any(feed_Envelope_After_templateRef_2_ListElement_templateRef(one));
    one = feed_Envelope_After_templateRef_2_ListElement_next(one);
  }
  printf("] End %u", (unsigned)feed_Envelope_After_List_End(feed_Envelope_After_templateRef_2_after_List(rest)));
}
static void any(stopbit_place place) {
  feed_Quote a_quote;
  feed_Envelope an_envelope;
  printf("{ ");
  if (feed_Quote_at(place, &a_quote)) quote(a_quote);
  if (feed_Envelope_at(place, &an_envelope)) {
    envelope(an_envelope);
    printf(" ");
  }
  printf("} ");
}
"""
ENVELOPE_USES = r"""  {
    feed_Envelope view;
    if (!feed_Envelope_from(slots, &view)) return 1;
    envelope(view);
    printf("\n");
    return 0;
  }
"""


def leaves_block(node):
    return node.is_sequence() or any(leaves_block(inner) for inner in node.inside)


def calls(nodes, body, kind, view, depth, out):
    """C that prints the nodes of a view of the type `kind`, a part of the body of another, in a variable."""
    indent = "  " * (depth + 1)
    for number, node in enumerate(nodes):
        accessor = f"{kind}_{node.name}"
        inner = f"v{depth + 1}_{number}"
        if node.optional:
            out.append(f"{indent}if ({kind}_has_{node.name}({view})) {{")
        else:
            out.append(f"{indent}{{")
        out.append(f'{indent}  name("{node.name}");')
        if node.kind == "group":
            out.append(f"{indent}  {accessor}Group {inner} = {accessor}({view});")
            out += [f"{indent}  (void){inner};", f'{indent}  printf("{{");', f'{indent}  before = "";']
            calls(node.inside, f"{accessor}Group", f"{accessor}Group", inner, depth + 1, out)
            out += [f'{indent}  printf("}}");', f'{indent}  before = ",";']
        elif node.kind == "sequence":
            element = f"{accessor}Element"
            out += [f"{indent}  {element} {inner} = {accessor}_begin({view});", f"{indent}  uint32_t i;",
                    f'{indent}  printf("[");', f"{indent}  for (i = 0; i < {accessor}_count({view}); ++i) {{",
                    f'{indent}    printf(i == 0 ? "{{" : ",{{");', f'{indent}    before = "";']
            calls(node.inside, element, element, inner, depth + 2, out)
            out += [f'{indent}    printf("}}");', f"{indent}    {inner} = {element}_next({inner});", f"{indent}  }}",
                    f'{indent}  printf("]");', f'{indent}  before = ",";']
        elif node.kind == "decimal":
            out.append(f"{indent}  number({accessor}({view}));")
        elif node.kind in ("string", "unicode", "byteVector"):
            out.append(f"{indent}  text({accessor}({view}), '{node.kind[0]}');")
        else:
            form = "PRIu64" if node.kind.startswith("u") else "PRId64"
            cast = "uint64_t" if node.kind.startswith("u") else "int64_t"
            out.append(f'{indent}  printf("%" {form}, ({cast}){accessor}({view}));')
        out.append(f"{indent}}}")
        if leaves_block(node) and number + 1 < len(nodes):
            after = f"{body}_After_{node.name}"
            out += [f"{indent}{{", f"{indent}  const {after} rest = {kind}_after_{node.name}({view});",
                    f"{indent}  const {after} {inner} = rest;"]
            calls(nodes[number + 1 :], body, after, inner, depth + 1, out)
            out.append(f"{indent}}}")
            return


def program(templates):
    functions, uses = [], []
    for (_, name), nodes in templates.items():
        kind = f"feed_{name}"
        functions += [f"static void print_{name}({kind} view) {{", "  (void)view;",
                      f'  printf("{{\\"template\\":\\"{name}\\",\\"id\\":%u,\\"fields\\":{{", '
                      f"(unsigned){kind}_template_id());"]
        calls(nodes, kind, kind, "view", 0, functions)
        functions += ['  printf("}}\\n");', "}"]
        uses += ["  {", f"    {kind} view;", f"    if ({kind}_from(slots, &view)) {{", f"      print_{name}(view);",
                 "      return 0;", "    }", "  }"]
    return text_of("\n".join(functions) + "\n", "\n".join(uses) + "\n")


def text_of(functions, uses):
    return MAIN.replace("@FUNCTIONS@", functions).replace("@USES@", uses)


def value(read):
    """What the program has printed, as the lines of stopbit have it."""
    if isinstance(read, dict):
        return {key: value(inner) for key, inner in read.items()}
    if not isinstance(read, list) or not read or not isinstance(read[0], str):
        return [value(inner) for inner in read] if isinstance(read, list) else read
    if read[0] == "d":
        return decimal.Decimal(read[1]).scaleb(read[2])
    data = bytes.fromhex(read[1])
    if read[0] == "s":
        return data.decode("latin-1")
    return data.decode("utf-8", "replace") if read[0] == "u" else read[1]


def expected(line):
    return json.loads(line, parse_float=decimal.Decimal)


def compile_header(stopbit, templates, folder, compiler, *more):
    """The header alone, in C99 and in C++: no warning."""
    os.makedirs(folder, exist_ok=True)
    feed.run(stopbit, "gen", "c", "--templates", templates, "-o", f"{folder}/feed.h", *more)
    with open(f"{folder}/alone.c", "w", encoding="utf-8") as text:
        text.write('#include "feed.h"\nuint64_t use(void);\nuint64_t use(void) { return feed_layout_hash(); }\n')
    for language in ("-std=c99", "-xc++"):
        feed.run(*compiler, language, "-Wno-unused-function", "-c", f"{folder}/alone.c", "-o", f"{folder}/alone.o")


def read_references(stopbit, templates, folder, headers, library):
    with open(f"{folder}/lines.jsonl", "w", encoding="utf-8") as text:
        text.write(ENVELOPE.replace("\n", "") + "\n")
    feed.run(stopbit, "encode", f"{folder}/lines.jsonl", "--templates", templates, "--framing", "none", "-o",
             f"{folder}/references.pcap")
    with open(f"{folder}/main.c", "w", encoding="utf-8") as text:
        text.write(text_of(ENVELOPE_FUNCTIONS, ENVELOPE_USES))
    feed.run(*headers, "-std=c99", "-Wno-unused-function", f"{folder}/main.c", library,
             f"-Wl,-rpath,{os.path.dirname(library)}", "-o", f"{folder}/main")
    read = feed.run(f"{folder}/main", templates, f"{folder}/references.pcap", "none").decode()
    if read != ENVELOPE_PRINTED:
        sys.exit(f"dynamic references:\n  expected {ENVELOPE_PRINTED}  read     {read}")


def main(stopbit, sample, scratch, source, library, compiler, *flags):
    headers = [compiler, *flags, "-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{source}/host/bindings/c"]
    for name in ("rich", "references", "projected"):
        more = ["--fields", "First,Deep,Behind,InG,InH,NoCounted,Constant,Last"] if name == "projected" else []
        compile_header(stopbit, f"{source}/tests/unit/templates/emit/{name}.xml", f"{scratch}/{name}", headers, *more)
    read_references(stopbit, f"{source}/tests/unit/templates/emit/references.xml", f"{scratch}/references", headers, library)
    for name, framing, templates, capture, lines in feed.cases(sample):
        folder = os.path.join(scratch, name)
        compile_header(stopbit, templates, folder, headers)
        lines = lines or feed.replay(stopbit, framing, templates, capture, "jsonl").decode().splitlines()
        lines = [line for line in lines if '"template"' in line[:13]]
        seen = {(message["id"], message["template"]) for message in map(json.loads, lines)}
        trees = {key: tree for key, tree in feed.templates_of(templates).items() if key in seen}
        with open(f"{folder}/main.c", "w", encoding="utf-8") as text:
            text.write(program(trees))
        feed.run(*headers, "-std=c99", "-O1", f"{folder}/main.c", library, f"-Wl,-rpath,{os.path.dirname(library)}", "-o",
                 f"{folder}/main")
        printed = feed.run(f"{folder}/main", templates, capture, framing).decode().splitlines()
        if len(printed) != len(lines):
            sys.exit(f"{name}: {len(printed)} messages read, {len(lines)} expected")
        for number, (line, read) in enumerate(zip(lines, printed), 1):
            if expected(line) != value(json.loads(read)):
                sys.exit(f"{name}, message {number}:\n  expected {line}\n  read     {read}")
        if name == "sample":
            refused = feed.subprocess.run([f"{folder}/main", f"{source}/tests/unit/templates/emit/rich.xml", capture,
                                           framing], capture_output=True, check=False)
            if refused.returncode != 4:
                sys.exit(f"records of another layout were not refused: {refused}")
        print(f"{name}: {len(lines)} messages agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
