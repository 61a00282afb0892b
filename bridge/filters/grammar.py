"""The syntax of message selectors (JMS 2.0, 3.8.1.1), and what is wrong with a text that has another.

The grammar takes a little more than JMS has: `!=` for `<>`, `%` for the remainder, a list of IN and the
operand of LIKE or IS NULL may be any expression, names may have dots and colons in them, and a name of
any characters is written between brackets, as `[order-status]`. What double quotes mean is the dialect's
choice: a name in selectors (as in SQL-92), a text in the filters of OASIS. Nothing is decided here about
types and meaning.

Parsing takes no recursion, however deep a text is nested: lark's LALR parser keeps a stack of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from lark import Lark, Token, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from bridge.filters.errors import FilterError

if TYPE_CHECKING:
    from lark import Transformer

LONGEST: Final = 4096
"""Characters that a selector may have."""

KEYWORDS: Final = frozenset(
    ("AND", "BETWEEN", "ESCAPE", "FALSE", "IN", "IS", "LIKE", "NOT", "NULL", "OR", "TRUE")
)

_GRAMMAR: Final = r"""
?start: either

?either: both (_OR both)*
?both: condition (_AND condition)*
?condition: test
    | NOT condition                             -> negation
?test: sum
    | sum COMPARISON sum                        -> comparison
    | sum [NOT] _BETWEEN sum _AND sum           -> between
    | sum [NOT] _IN "(" sum ("," sum)* ")"      -> among
    | sum [NOT] _LIKE sum [_ESCAPE sum]         -> like
    | sum _IS [NOT] _NULL                       -> is_null
?sum: product ((PLUS | MINUS) product)*
?product: factor (FACTOR factor)*
?factor: atom
    | MINUS factor                              -> minus
    | PLUS factor                               -> plus
?atom: "(" either ")"
    | (NAME | LONG_NAME | BRACKETED)            -> name
    | QUOTED                                    -> quoted
    | TEXT                                      -> text
    | EXACT                                     -> exact
    | APPROXIMATE                               -> approximate
    | HEXADECIMAL                               -> hexadecimal
    | TRUE                                      -> true
    | FALSE                                     -> false

COMPARISON: "=" | "<>" | "!=" | "<=" | ">=" | "<" | ">"
PLUS: "+"
MINUS: "-"
FACTOR: "*" | "/" | "%"
TEXT: /'(?:[^']|'')*'/
QUOTED: /"(?:[^"]|"")*"/
BRACKETED: /\[[^\[\]]+\]/
HEXADECIMAL.3: /0[xX][0-9A-Fa-f]+[lL]?/
APPROXIMATE.2: /(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?/
    | /[0-9]+(?:[eE][+-]?[0-9]+[fFdD]?|[fFdD])/
EXACT.1: /[0-9]+[lL]?/
LONG_NAME.2: /amqp\.(?:annotation|properties)\.[\w$.:-]+/
NAME: /(?:[^\W\d]|\$)(?:[\w$:]|\.(?=[\w$]))*/

%declare _AND _BETWEEN _ESCAPE FALSE _IN _IS _LIKE NOT _NULL _OR TRUE
%ignore /\s+/
"""

_VALUE: Final = "a value"
_PHRASES: Final = {
    "COMPARISON": "a comparison",
    "NOT": "NOT",
    "_BETWEEN": "BETWEEN",
    "_IN": "IN",
    "_LIKE": "LIKE",
    "_ESCAPE": "ESCAPE",
    "_IS": "IS",
    "_NULL": "NULL",
    "PLUS": "an operator",
    "MINUS": "an operator",
    "FACTOR": "an operator",
    "_AND": "AND",
    "_OR": "OR",
    "COMMA": "','",
    "RPAR": "')'",
    "$END": "the end",
}
"""What a person calls a terminal, in the order in which they are told."""

_ATOMS: Final = frozenset(
    (
        *("NAME", "LONG_NAME", "BRACKETED", "QUOTED", "TEXT", "EXACT", "APPROXIMATE", "HEXADECIMAL"),
        *("TRUE", "FALSE", "LPAR"),
    )
)
_UNCLOSED: Final = {
    "'": "a text that begins here has no closing quote",
    '"': "a name or text that begins here has no closing quote",
    "[": "a name that begins here has no closing bracket",
}
_LONGEST_FOUND: Final = 40


def parser(transformer: Transformer[Token, Any]) -> Lark:
    """Build a parser that gives what the transformer makes of a text.

    Building takes some milliseconds; a parser may be used any number of times.
    """
    return Lark(
        _GRAMMAR,
        parser="lalr",
        lexer="basic",
        transformer=transformer,
        maybe_placeholders=True,
        lexer_callbacks={"NAME": _word},
    )


def _word(token: Token) -> Token:
    """Tell keywords from names, in capitals or not."""
    keyword = token.upper()
    if keyword not in KEYWORDS:
        return token
    kept = keyword in {"NOT", "TRUE", "FALSE"}
    return Token.new_borrow_pos(keyword if kept else f"_{keyword}", token, token)


def parse(grammar: Lark, text: str) -> object:
    """Parse a text of `LONGEST` characters at most.

    Raises FilterError that tells the place, what was found there and what was expected; and what the
    transformer raises.
    """
    if len(text) > LONGEST:
        raise FilterError(f"the text has {len(text)} characters; {LONGEST} are allowed")
    try:
        return grammar.parse(text)
    except UnexpectedInput as error:
        raise FilterError(_described(error, text)) from None


def place(token: Token) -> str:
    """Tell a person where a token is."""
    return f"line {token.line}, column {token.column}"


def _described(error: UnexpectedInput, text: str) -> str:
    if isinstance(error, UnexpectedCharacters):
        character = text[error.pos_in_stream or 0]
        what = _UNCLOSED.get(character, f"{character!r} means nothing here")
        return f"line {error.line}, column {error.column}: {what}"
    assert isinstance(error, UnexpectedToken)  # noqa: S101 - there is no third kind with this parser
    expected = _phrases(error.accepts or error.expected)
    if error.token.type == "$END":
        return f"at the end of the text: expected {expected}"
    found = str(error.token)
    if len(found) > _LONGEST_FOUND:
        found = found[:_LONGEST_FOUND] + "..."
    return f"{place(error.token)}: expected {expected}, found {found!r}"


def _phrases(terminals: set[str]) -> str:
    """Name the terminals, the beginnings of a value in two words."""
    wanted = [] if not terminals >= _ATOMS else [_VALUE]
    if wanted:
        terminals = terminals - _ATOMS - {"PLUS", "MINUS"}
    wanted += dict.fromkeys(phrase for name, phrase in _PHRASES.items() if name in terminals)
    return " or ".join(filter(None, (", ".join(wanted[:-1]), *wanted[-1:])))
