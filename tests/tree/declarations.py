"""A small scanner for C++: what a source declares in its namespaces and classes, and the comment of each.

It reads the C++ of this tree, formatted by clang-format, and not every C++: directives of the preprocessor are passed
over, and bodies of functions are skipped.
"""
import dataclasses
import re

TOKEN = re.compile(
    r"//[^\n]*|/\*.*?\*/|R\"(?P<end>\w*)\(.*?\)(?P=end)\"|\"(?:\\.|[^\"\\\n])*\"|(?<![\w])'(?:\\.|[^'\\\n])'"
    r"|[A-Za-z_]\w*|\d(?:[\w.]|'(?=\w))*|::|->|\S", flags=re.S)
CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
CLASSES = {"class", "struct", "union"}


@dataclasses.dataclass
class Declaration:
    kind: str  # class, enum, enumerator, function, variable, alias, forward, friend, qualified
    name: str
    scope: tuple  # names of the namespaces and classes around it; "" for an unnamed namespace
    in_class: bool
    is_public: bool  # no private or protected section is around it
    words: list
    line: int
    end: int  # the last line, with comments that trail
    above: str = ""  # the comment that ends on the line above, if it begins with ///
    trailing: str = ""  # the comments ///<
    body: int = 0  # lines of the longest {...} in it

    @property
    def comment(self):
        return (self.above + "\n" + self.trailing).strip()


class Unreadable(Exception):
    pass


def _without_directives(text):
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: "\n" * m.group().count("\n"), text, flags=re.M)


def _after(words, at):
    """Behind the bracket that closes the one at `at`."""
    opening, depth = words[at], 0
    for i in range(at, len(words)):
        if words[i] == opening:
            depth += 1
        elif words[i] == CLOSING[opening]:
            depth -= 1
            if depth == 0:
                return i + 1
    raise Unreadable(f"'{opening}' is not closed in: {' '.join(words)}")


def _without_annotations(words):
    """Without the macros of src/base/annotated_mutex.hpp."""
    rest, i = [], 0
    while i < len(words):
        if not words[i].startswith("HOLDFAST_"):
            rest.append(words[i])
            i += 1
        else:
            i = _after(words, i + 1) if words[i + 1:i + 2] == ["("] else i + 1
    return rest


def _without_prefix(words):
    """Without annotations, attributes, `template <…>` and a `requires` behind it."""
    words = _without_annotations(words)
    i = 0
    while i < len(words):
        if words[i] == "[" and words[i + 1:i + 2] == ["["]:
            i = _after(words, i)
        elif words[i] == "template" and words[i + 1:i + 2] == ["<"]:
            i = _after(words, i + 1)
        elif words[i] == "requires":
            i += 1
            while True:
                if words[i] == "(":
                    i = _after(words, i)
                else:
                    while words[i] == "!" or words[i] == "::" or (
                            re.match(r"\w", words[i]) and (words[i - 1] in ("::", "!", "&", "|", "requires"))):
                        i += 1
                    if words[i] == "<":
                        i = _after(words, i)
                if words[i] not in ("&", "|"):
                    break
                i += 2
        else:
            break
    return words[i:]


def _classify(words):
    """The kind and the name of a statement that has ended."""
    words = _without_prefix(words)
    plain = [w for w in words if w not in ("inline", "static", "constexpr", "extern")]
    if not plain or plain[0] in ("static_assert", "namespace", "}"):
        return None
    if plain[0] in ("friend",):
        return "friend", ""
    if plain[0] == "using":
        return ("alias", plain[1]) if "=" in plain else None
    if plain[0] in CLASSES and all(re.match(r"\w|::", w) for w in plain[1:]):
        return "forward", plain[-1]
    depth = 0
    for i, word in enumerate(words):
        if word == "<" and words[i - 1] != "operator":
            depth += 1
        elif word == ">" and words[i - 1] not in ("operator", "="):
            depth = max(0, depth - 1)
        elif word == "operator":
            to = next(j for j in range(i + 2, len(words)) if words[j] == "(")
            return "function", "".join(words[i:to])
        elif word == "(" and depth == 0 and i and re.match(r"\w", words[i - 1]):
            if i > 1 and words[i - 2] == "::":
                return "qualified", words[i - 1]
            destructs = i > 1 and words[i - 2] == "~"
            return "function", ("~" if destructs else "") + words[i - 1]
        elif word in ("=", "{") and depth == 0:
            return "variable", words[i - 1]
    return "variable", words[-1]


def declarations(text):
    """All declarations, in their order."""
    found = []
    tokens = []
    text = _without_directives(text)
    line, at = 1, 0
    for token in TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        tokens.append((token.group(), line, line + token.group().count("\n")))
    scopes = []  # (kind, name, access), access of what follows in it
    words, first, body = [], None, 0  # of the statement that has begun
    above, above_end = "", 0
    trailing = ""

    def names():
        return tuple(s[1] for s in scopes)

    def add(kind, name, to):
        nonlocal words, first, body, above, trailing
        declared = Declaration(kind, name, names(), bool(scopes) and scopes[-1][0] == "class",
                               all(s[2] == "public" for s in scopes), words, first, to,
                               above if above_end == first - 1 else "", trailing, body)
        found.append(declared)
        words, first, body, above, trailing = [], None, 0, "", ""

    def drop():
        nonlocal words, first, body, trailing
        words, first, body, trailing = [], None, 0, ""

    i = 0
    while i < len(tokens):
        word, begin, end = tokens[i]
        if word.startswith(("//", "/*")):
            if word.startswith("///<"):
                if words:
                    trailing += word[4:].strip() + " "
                elif found and found[-1].end >= begin - 1 and (found[-1].end == begin or found[-1].trailing):
                    found[-1].trailing += word[4:].strip() + " "
                    found[-1].end = end
            elif word.startswith("///") and not words:
                above = above + word[3:] + "\n" if above and above_end == begin - 1 else word[3:] + "\n"
                above_end = end
            elif word.startswith("//") and not words and found and found[-1].trailing and found[-1].end == begin - 1:
                found[-1].end = end  # the next line of a comment that trails
            i += 1
            continue
        if word in ("(", "["):
            first = first or begin
            depth = 0
            while True:
                if i == len(tokens):
                    raise Unreadable(f"line {begin}: '{word}' is not closed")
                each = tokens[i][0]
                depth += each in ("(", "[", "{")
                depth -= each in (")", "]", "}")
                if not each.startswith(("//", "/*")):
                    words.append(each)
                i += 1
                if depth == 0:
                    break
            continue
        if word == "{":
            bare = _without_prefix(words)
            if bare and (bare[0] == "namespace" or bare[:2] == ["inline", "namespace"]):
                named = [w for w in bare if w not in ("namespace", "inline")]
                drop()
                scopes.append(("namespace", "".join(named), "public"))
            elif bare and bare[0] == "extern":
                drop()
                scopes.append(("namespace", "", "public"))
            elif bare and bare[0] == "enum":
                rest = [w for w in bare[1:] if w not in CLASSES]
                add("enum", rest[0] if rest else "", begin)
                scopes.append(("enum", found[-1].name, "public"))
            elif bare and bare[0] in CLASSES and "(" not in bare and "=" not in bare:
                heads = bare[1:bare.index(":")] if ":" in bare else bare[1:]
                heads = [w for w in heads if w not in ("final", "alignas")]
                name = next((w for w in reversed(heads) if re.match(r"[A-Za-z_]", w)), "")
                if "<" in heads:  # a specialisation
                    name = heads[heads.index("<") - 1]
                add("class", name, begin)
                scopes.append(("class", name, "private" if bare[0] == "class" else "public"))
            else:
                first = first or begin
                depth = 0
                while True:
                    if i == len(tokens):
                        raise Unreadable(f"line {begin}: '{{' is not closed")
                    each = tokens[i][0]
                    depth += each == "{"
                    depth -= each == "}"
                    i += 1
                    if depth == 0:
                        break
                words += ["{", "}"]
                body = max(body, tokens[i - 1][2] - begin + 1)
                after = next((t[0] for t in tokens[i:] if not t[0].startswith(("//", "/*"))), "")
                if after not in (";", ",", "{", ")", ".", "("):
                    known = _classify(words)
                    if known:
                        add(*known, tokens[i - 1][2])
                    else:
                        drop()
                continue
        elif word == "}":
            if not scopes:
                raise Unreadable(f"line {begin}: '}}' closes nothing")
            if scopes[-1][0] == "enum" and words:
                add("enumerator", words[0], end)
            scopes.pop()
            drop()
        elif word == "," and scopes and scopes[-1][0] == "enum":
            add("enumerator", words[0], end)
        elif word == ";":
            known = _classify(words) if words else None
            if known:
                add(*known, end)
            else:
                drop()
        elif word == ":" and scopes and scopes[-1][0] == "class" and words in (["public"], ["private"], ["protected"]):
            scopes[-1] = (*scopes[-1][:2], words[0])
            drop()
        else:
            first = first or begin
            words.append(word)
        i += 1
    if scopes or words:
        raise Unreadable("the end of the file comes too soon")
    return found
