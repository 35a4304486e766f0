"""Writes the pages of the reference, a header each, from what Doxygen has read in the headers.

    reference.py XML HEADERS TO   XML: Doxygen's folder; HEADERS: include/holdfast; TO: where the pages go

Breathe 4.34, which Debian 12 packages, leaves out the members that a class has from a base: all verbs of the lock types.
It also declares the namespace again on each page, which is a warning.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree

# The order in which a reader meets them.
HEADERS = ("client.hpp", "mutex.hpp", "shared_mutex.hpp", "recursive_mutex.hpp", "counting_semaphore.hpp", "lease.hpp",
           "lock_set.hpp", "lock_spec.hpp", "lease_set.hpp", "election.hpp", "term.hpp", "candidate.hpp", "fencing_token.hpp",
           "fence.hpp", "options.hpp", "error.hpp", "async.hpp", "state.hpp", "statistics.hpp", "event.hpp", "diagnosis.hpp",
           "schema.hpp", "boot_clock.hpp", "holdfast.h")
WITHOUT_PAGE = ("holdfast.hpp", "export.hpp")  # the one includes the others, the other has a macro of our own


class page_writer:
    """A page in reStructuredText. Indentation is the nesting of directives."""

    def __init__(self, language):
        self.language = language  # Sphinx's domain
        self.lines = []
        self.depth = 0

    def write(self, text=""):
        self.lines += ["   " * self.depth + line if line else "" for line in text.split("\n")]

    def directive(self, kind, signatures, options=()):
        first = f".. {self.language}:{kind}:: "
        self.write()
        for number, each in enumerate(signatures):
            self.write((first if number == 0 else " " * len(first)) + each)
        for each in options:
            self.write("   " + each)
        self.write()


def escaped(text):
    return re.sub(r"([\\*`|_])", r"\\\1", text)


def plain(element):
    return "".join(element.itertext()) if element is not None else ""


def type_text(element):
    text = re.sub(r"\s+", " ", plain(element)).replace("HOLDFAST_EXPORT", "").strip()
    return re.sub(r"\s*>", ">", re.sub(r"<\s+", "<", text))


class inline_text:
    """What stands within a paragraph. A piece of markup that a letter follows needs a separator, which shows nothing."""

    def __init__(self, targets):
        self.targets = targets
        self.pieces = []

    def add(self, text, is_markup=False):
        if text:
            self.pieces.append((text, is_markup))

    def literal(self, text):
        text = text.strip()
        if match := re.fullmatch(r"(?:holdfast::)?errc::(\w+)", text):
            self.add(f":cpp:enumerator:`{text} <holdfast::errc::{match[1]}>`", True)
        else:
            self.add(f"``{text}``", True)

    def words(self, text):
        """Codes of errors are links, wherever they stand."""
        for number, part in enumerate(re.split(r"((?:holdfast::)?errc::\w+)", re.sub(r"\s+", " ", text or ""))):
            if number % 2:
                self.literal(part)
            else:
                self.add(escaped(part))

    def walk(self, element):
        self.words(element.text)
        for child in element:
            if child.tag == "ref":
                self.link(plain(child), child.get("refid"), False)
            elif child.tag == "computeroutput":
                refs = child.findall("ref")
                if len(refs) == 1 and plain(refs[0]) == plain(child):
                    self.link(plain(child), refs[0].get("refid"), True)
                else:
                    self.literal(plain(child))
            elif child.tag in ("emphasis", "bold"):
                mark = "*" if child.tag == "emphasis" else "**"
                self.add(f"{mark}{escaped(plain(child).strip())}{mark}", True)
            elif child.tag == "ulink":
                self.add(f"`{escaped(plain(child))} <{child.get('url')}>`__", True)
            elif child.tag in BLOCKS:
                break
            else:
                sys.exit(f"the element {child.tag} in a comment: site/reference.py has no form for it")
            self.words(child.tail)

    def link(self, text, target, is_code):
        role = self.targets.get(target)
        if role:
            self.add(f":{role[0]}:`{text} <{role[1]}>`", True)
        elif is_code:
            self.literal(text)
        else:
            self.add(escaped(text))

    def __str__(self):
        result, after_markup = "", False
        for text, is_markup in self.pieces:
            if result and (after_markup or is_markup) and not result[-1].isspace() and not text[0].isspace():
                result += "\\ "
            result += text
            after_markup = is_markup
        return result.strip()


BLOCKS = ("verbatim", "programlisting", "itemizedlist", "orderedlist", "simplesect", "parameterlist")


class reference:
    def __init__(self, xml_folder, headers):
        self.headers = headers
        self.compounds = {}
        for file in sorted(xml_folder.glob("*.xml")):
            for each in xml.etree.ElementTree.parse(file).getroot().findall("compounddef"):
                self.compounds[each.get("id")] = each
        self.targets = {}
        self.find_targets()

    def name(self, compound):
        return compound.findtext("compoundname")

    def header_of(self, element):
        return pathlib.PurePath(element.find("location").get("file")).name

    def is_detail(self, name):
        return "::detail" in name

    def of_kind(self, *kinds):
        return [each for each in self.compounds.values() if each.get("kind") in kinds]

    def members(self, compound):
        """The public ones, and those of bases within the library, in the order of the header."""
        found = []
        for base in compound.findall("basecompoundref"):
            if base.get("refid") and base.get("prot") == "public":
                found += self.members(self.compounds[base.get("refid")])
        own = [each for each in compound.iter("memberdef") if each.get("prot") == "public"]
        return found + sorted(own, key=lambda each: int(each.find("location").get("line")))

    def classes(self):
        return [each for each in self.of_kind("class", "struct") if not self.is_detail(self.name(each))
                and not self.name(each).startswith("std::")]

    def find_targets(self):
        """{Doxygen's id: (role, qualified name)} of all that has a place in a page."""
        roles = {"function": "func", "typedef": "type", "enum": "enum", "variable": "member", "define": "macro"}
        for each in self.classes():
            is_c = self.header_of(each) == "holdfast.h"
            name = self.name(each)
            self.targets[each.get("id")] = ("c:struct", name) if is_c else ("cpp:class", name)
            for member in self.members(each):
                if member.get("kind") in roles and not is_c:
                    self.targets.setdefault(member.get("id"), ("cpp:" + roles[member.get("kind")],
                                                               f"{name}::{member.findtext('name')}"))
        for each in self.of_kind("namespace", "file"):
            if self.is_detail(self.name(each)):
                continue
            for member in each.iter("memberdef"):
                if member.get("kind") not in roles:
                    continue
                is_c = self.header_of(member) == "holdfast.h"
                scope = f"{self.name(each)}::" if each.get("kind") == "namespace" else ""
                role = ("c:" if is_c else "cpp:") + roles[member.get("kind")]
                self.targets.setdefault(member.get("id"), (role, scope + member.findtext("name")))
                inner = scope + (f"{member.findtext('name')}::" if member.get("strong") == "yes" else "")
                for value in member.findall("enumvalue"):
                    self.targets.setdefault(value.get("id"), (role[:role.index(":")] + ":enumerator",
                                                              inner + value.findtext("name")))

    # Comments -----------------------------------------------------------------------------------------------

    def describe(self, page, element):
        for part in ("briefdescription", "detaileddescription"):
            for paragraph in element.find(part) if element.find(part) is not None else ():
                self.paragraph(page, paragraph)

    def paragraph(self, page, paragraph):
        """Its text, then the blocks that Doxygen puts into it."""
        rest = paragraph
        while rest is not None:
            line = inline_text(self.targets)
            line.walk(rest)
            if str(line):
                page.write(str(line) + "\n")
            rest = self.block(page, rest)

    def block(self, page, paragraph):
        """Writes the first block of the paragraph, and returns what follows it, as a paragraph."""
        at = next((n for n, child in enumerate(paragraph) if child.tag in BLOCKS), None)
        if at is None:
            return None
        block = paragraph[at]
        if block.tag == "verbatim":
            self.code(page, plain(block))
        elif block.tag == "programlisting":
            self.code(page, "\n".join("".join(" " if each.tag == "sp" else (each.text or "") for each in line.iter())
                                      for line in block))
        elif block.tag in ("itemizedlist", "orderedlist"):
            for item in block:
                self.field(page, "-" if block.tag == "itemizedlist" else "#.", item)
        elif block.tag == "simplesect":
            self.field(page, {"return": ":returns:"}[block.get("kind")], block)
        else:
            kind = {"param": "param", "exception": "throws", "retval": "retval", "templateparam": "tparam"}[block.get("kind")]
            for item in block:
                name = escaped(", ".join(plain(each) for each in item.find("parameternamelist")))
                self.field(page, f":{kind} {name}:", item.find("parameterdescription"))
        rest = xml.etree.ElementTree.Element("para")
        rest.text = block.tail
        rest.extend(paragraph[at + 1:])
        return rest

    def code(self, page, text):
        lines = text.strip("\n").split("\n")
        least = min(len(line) - len(line.lstrip()) for line in lines if line.strip())
        page.write(".. code-block:: " + ("c++" if re.search(r"[;{]", text) else "text") + "\n")
        page.depth += 1
        page.write("\n".join(line[least:].rstrip() for line in lines) + "\n")
        page.depth -= 1

    def field(self, page, mark, element):
        """An item of a list, or a field. Its paragraphs are indented."""
        inner = page_writer(page.language)
        for paragraph in element.findall("para"):
            self.paragraph(inner, paragraph)
        lines = "\n".join(inner.lines).strip("\n").split("\n")
        page.write(f"{mark} {lines[0]}")
        page.depth += 1
        for line in lines[1:]:
            page.write(line)
        page.depth -= 1
        page.write()

    # Declarations -------------------------------------------------------------------------------------------

    def signature(self, member):
        template = ""
        for parameters in member.findall("templateparamlist"):
            each = [type_text(p.find("type")) + (f" {plain(p.find('declname'))}" if p.find("declname") is not None else "")
                    + (f" = {type_text(p.find('defval'))}" if p.find("defval") is not None else "") for p in parameters]
            template += f"template<{', '.join(each)}> "
        words = [template.strip(), "static" if member.get("static") == "yes" else "",
                 "explicit" if member.get("explicit") == "yes" and "explicit" not in type_text(member.find("type")) else "",
                 type_text(member.find("type"))]
        arguments = re.sub(r"\s*=\s*(default|0)\s*$", "", type_text(member.find("argsstring")))
        return " ".join(filter(None, words)) + " " + member.findtext("name") + arguments

    def has_comment(self, member):
        return any(plain(member.find(part)).strip() for part in ("briefdescription", "detaileddescription"))

    def overview(self, page, members):
        """A link to each function, in one paragraph."""
        links = {}
        for each in members:
            role = self.targets.get(each.get("id"))
            if each.get("kind") == "function" and role and role[0].endswith(":func") and "operator" not in role[1]:
                links.setdefault(each.findtext("name"), f":{role[0]}:`{each.findtext('name')} <{role[1]}>`")
        if len(links) > 3:
            page.write(" · ".join(links.values()) + "\n")

    def write_members(self, page, members):
        """Those without a comment share that of the one in front of them, if they have its name."""
        group = []
        for each in [*members, None]:
            if group and (each is None or self.has_comment(each) or each.findtext("name") != group[0].findtext("name")):
                self.write_functions(page, group)
                group = []
            if each is None or plain(each.find("argsstring")).rstrip().endswith("delete"):
                continue
            kind = each.get("kind")
            if kind == "function" or kind == "friend" and "(" in plain(each.find("argsstring")):
                if "operator=" == each.findtext("name") and not self.has_comment(each):
                    continue  # of moves
                group.append(each)
            elif kind in ("typedef", "variable", "enum", "define") and self.has_comment(each):
                self.write_other(page, each)

    def write_functions(self, page, group):
        page.directive("function", [self.signature(each) for each in group])
        page.depth += 1
        self.describe(page, group[0])
        page.depth -= 1

    def write_other(self, page, member):
        kind, name = member.get("kind"), member.findtext("name")
        if kind == "enum":
            page.directive("enum-class" if member.get("strong") == "yes" else "enum", [name])
        elif kind == "define":
            parameters = [plain(each) for each in member.findall("param")]
            page.directive("macro", [name + (f"({', '.join(parameters)})" if parameters else "")])
        elif kind == "typedef" and page.language == "cpp":
            page.directive("type", [f"{name} = {type_text(member.find('type'))}"])
        elif kind == "typedef":
            page.directive("struct", [name])
        else:
            page.directive("member", [self.signature(member)])
        page.depth += 1
        self.describe(page, member)
        for value in member.findall("enumvalue"):
            page.directive("enumerator", [f"{value.findtext('name')} {plain(value.find('initializer'))}".strip()])
            page.depth += 1
            self.describe(page, value)
            page.depth -= 1
        page.depth -= 1

    def own_targets(self, compound):
        """Members of a base are those of the class on its own page."""
        name = self.name(compound)
        own = {each.get("id"): self.targets[each.get("id")][0] for each in self.members(compound)
               if each.get("id") in self.targets}
        return self.targets | {each: (role, f"{name}::{self.targets[each][1].rpartition('::')[2]}")
                               for each, role in own.items() if role != "cpp:enumerator"}

    def write_class(self, page, compound, comment, nested):
        before = self.targets
        if page.language == "cpp":
            self.targets = self.own_targets(compound)
        page.directive("struct" if compound.get("kind") == "struct" else "class", [self.name(compound).rpartition("::")[2]])
        page.depth += 1
        self.describe(page, comment)
        members = self.members(compound)
        self.overview(page, [each for each in members if each.findtext("name") != self.name(compound).rpartition("::")[2]])
        self.write_members(page, members)
        for each in nested:
            self.write_class(page, each, each, ())
        page.depth -= 1
        self.targets = before

    # Pages --------------------------------------------------------------------------------------------------

    def introduction(self, page, header):
        """The comment at the top of holdfast.h. It has two slashes and not three, so that Doxygen passes over it."""
        text = (self.headers / header).read_text()
        block = re.search(r"#define \w+\n\n((?://[^\n]*\n)+)", text)
        if block:
            words = re.sub(r"^// ?", "", block[1], flags=re.M)
            page.write("".join(f"``{part}``" if number % 2 else
                               re.sub(r"\\\*([A-Za-z][\w ()]*(?:[.]|(?=\\\*)))\\\*", r"*\1*", escaped(part))
                               for number, part in enumerate(words.split("`"))))

    def page(self, header):
        is_c = header == "holdfast.h"
        page = page_writer("c" if is_c else "cpp")
        title = header if is_c else header.removesuffix(".hpp")
        page.write(f"{title}\n{'=' * len(title)}\n\n.. code-block:: c++\n\n   #include <holdfast/{header}>\n")
        if is_c:
            self.introduction(page, header)
        else:
            page.write(".. cpp:namespace:: holdfast\n")
        files = [each for each in self.of_kind("file") if self.name(each) == header and
                 str(each.find("location").get("file")).endswith(f"holdfast/{header}")]
        for each in files:
            self.describe(page, each)
        self.write_declarations(page, header, files)
        return "\n".join(page.lines).strip() + "\n"

    def write_declarations(self, page, header, files):
        members = [member for each in self.of_kind("namespace") if self.name(each) == "holdfast"
                   for member in each.iter("memberdef") if self.header_of(member) == header]
        if header == "holdfast.h":
            members += [member for each in files for member in each.iter("memberdef")]
        classes = {self.name(each): each for each in self.classes() if self.header_of(each) == header}
        comments = {each.findtext("name"): each for each in members if each.get("kind") == "typedef"}
        in_order = [(int(each.find("location").get("line")), name) for name, each in classes.items()
                    if name.rpartition("::")[0] not in classes]
        in_order += [(int(each.find("location").get("line")), each) for each in members
                     if not (each.get("kind") == "typedef" and each.findtext("name") in classes)]
        if header == "holdfast.h":
            self.overview(page, members)
        functions = []
        for _, each in sorted(in_order, key=lambda one: one[0]):
            if not isinstance(each, str):
                functions.append(each)
                continue
            self.write_members(page, functions)
            functions = []
            nested = [inner for name, inner in classes.items() if name.rpartition("::")[0] == each]
            self.write_class(page, classes[each], comments.get(each, classes[each]), nested)
        self.write_members(page, functions)


def main():
    xml_folder, headers, to = (pathlib.Path(each) for each in sys.argv[1:])
    there = {each.name for each in headers.glob("*.h*")} - set(WITHOUT_PAGE)
    if there != set(HEADERS):
        sys.exit(f"site/reference.py: the headers are not those in its list: {sorted(there ^ set(HEADERS))}")
    of = reference(xml_folder, headers)
    to.mkdir(parents=True, exist_ok=True)
    for header in HEADERS:
        (to / f"{header}.rst").write_text(of.page(header))


main()
