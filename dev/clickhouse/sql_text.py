"""What the HTTP server has to know of a statement before the engine gets it, and of the errors that come back."""

import os
import re


class QueryError(Exception):
    """An error to report as ClickHouse does."""

    def __init__(self, code, name, text):
        super().__init__(f"Code: {code}. DB::Exception: {text} ({name})")
        self.code = code


# ClickHouse error codes by the HTTP status that a ClickHouse server answers them with;
# all others are 500.
STATUS_BY_CODE = {
    code: status
    for status, codes in {
        400: (6, 15, 25, 26, 27, 36, 38, 41, 44, 53, 62, 72, 116, 117, 124, 125, 126, 167, 168,
              191, 376, 427, 441, 675, 676),
        401: (194,),
        403: (192, 193, 497, 516, 665),
        404: (46, 47, 50, 56, 60, 63, 73, 78, 81, 93, 97, 115, 511),
        408: (159,),
        411: (381,),
        413: (101, 229),
        501: (48,),
        503: (76, 209, 439),
    }.items()
    for code in codes
}


def describe_error(error):
    """(code, text) for an exception raised by the engine or by this module."""
    text = str(error).strip()
    # The engine nests one and the same error, and names the file that data came from.
    text = re.sub(r"^(Code: \d+\. DB::Exception: )+(?=\1)", "", text)
    text = re.sub(r"(?: \((\w+)\) \(version [\d.]+\)\.)+ \(\1\)$", r" (\1)", text)
    text = re.sub(r": \(in file/uri /proc/self/fd/\d+\)|: While executing File: data for INSERT was parsed from file", "", text)
    found = re.search(r"Code: (\d+)", text)
    if found:
        return int(found[1]), text
    return 1002, f"Code: 1002. DB::Exception: {text} (UNKNOWN_EXCEPTION)"


TOKEN = re.compile(
    rb"""
    (?P<skip>   \s+ | --[^\n]* | \#[\ !][^\n]* | /\*.*?(?:\*/|\Z) )
  | (?P<quoted> '(?:[^'\\]|\\.|'')*' | `(?:[^`\\]|\\.|``)*` | "(?:[^"\\]|\\.|"")*"
              | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ )
  | (?P<word>   [A-Za-z_]\w* )
  | (?P<other>  \d\w* | . )
    """,
    re.S | re.X,
)
AFTER_FORMAT = re.compile(rb"[ \t\f]*\r?\n?")
READING = {b"SELECT", b"WITH", b"SHOW", b"DESCRIBE", b"DESC", b"EXISTS", b"EXPLAIN", b"CHECK",
           b"USE", b"SET", b"FROM", b"VALUES", b"("}


class Statement:
    """What this server has to know about a statement before the engine gets it."""

    def __init__(self, sql):
        self.verb = b""  # its first word, in upper case
        self.end = len(sql)  # where the statement ends (before a closing semicolon)
        self.format = None  # the name in its FORMAT clause
        self.data_at = None  # INSERT with data: where the data begins
        self.settings_at = None  # INSERT with data: where the word SETTINGS begins
        self.changes_session = False  # SET, USE, CREATE TEMPORARY TABLE, ...
        self._scan(sql)

    def _scan(self, sql):
        words = []  # (text in upper case or None, start, end) of the tokens outside brackets
        depth = 0
        for match in TOKEN.finditer(sql):
            kind = match.lastgroup
            if kind == "skip":
                continue
            start, end = match.span()
            text = sql[start:end].upper() if kind in ("word", "other") else None
            if not self.verb:
                self.verb = text or b"?"
            elif words and words[-1][0] == b";":
                raise QueryError(62, "SYNTAX_ERROR", "Syntax error (Multi-statements are not allowed): failed at "
                                 f"position {start + 1}: {sql[start:start + 40].decode(errors='replace')}")
            if text in (b")", b"]", b"}"):
                depth -= 1
            if depth == 0 or (depth == 1 and words and words[-1][0] == b"("):
                words.append((text, start, end))
                if self.verb == b"INSERT" and kind == "word" and self._insert_data(sql, words):
                    return
            if text in (b"(", b"[", b"{"):
                depth += 1
        if words and words[-1][0] == b";":
            self.end = words.pop()[1]
        self._find_format(sql, words)
        early = {text for text, _, _ in words[:4]}
        self.changes_session = self.verb in (b"SET", b"USE", b"BEGIN") or b"TEMPORARY" in early

    def _insert_data(self, sql, words):
        """At the newest word of an INSERT: do its data, or its SELECT, begin here?"""
        text, start, end = words[-1]
        before, before_that = [word for word, _, _ in words[-3:-1]][::-1] if len(words) > 2 else (None, None)
        naming = (b"INTO", b"TABLE", b"FUNCTION", b".")  # what comes before (a part of) the table's name
        if before in naming or (text in naming and before == b"INTO"):
            return False
        if before == b"FORMAT" and before_that not in naming:
            self.format, self.end = sql[start:end].decode(), words[-2][1]
            # Data begin after the first newline, or after the blanks where there is none.
            self.data_at = AFTER_FORMAT.match(sql, end).end()
        elif text == b"VALUES":
            self.format, self.data_at, self.end = "Values", end, start
        elif text == b"SETTINGS":
            self.settings_at = start
        elif text in (b"SELECT", b"WITH", b"FROM", b"WATCH"):
            self.verb = b"INSERT SELECT"  # no data: an ordinary statement from here on
        return self.data_at is not None

    def _find_format(self, sql, words):
        for i in range(len(words) - 2, 0, -1):
            after = words[i + 2][0] if i + 2 < len(words) else b"SETTINGS"
            if words[i][0] == b"FORMAT" and words[i + 1][0] and after == b"SETTINGS":
                self.format = sql[words[i + 1][1] : words[i + 1][2]].decode()
                return


def quote(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def assignments(settings):
    return ", ".join(f"{name} = {quote(value)}" for name, value in settings.items())
