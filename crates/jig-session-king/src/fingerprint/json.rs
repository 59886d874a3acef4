//! JSON as JavaScript reads and prints it: `JSON.stringify(JSON.parse(text))`, to the byte.
//!
//! Three things set it apart from a Rust reader: a string may hold a lone surrogate, keys that look
//! like array indexes come first and in ascending order, and every number is a double.

/// How deep arrays and objects may nest before the text is refused; a settings file is never near it.
const MAX_DEPTH: usize = 512;

/// A JSON value, its strings as UTF-16 code units.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(Vec<u16>),
    List(Vec<Value>),
    /// The pairs in JavaScript's own order.
    Object(Vec<(Vec<u16>, Value)>),
}

impl Value {
    /// Parses a whole text; `None` for anything `JSON.parse` throws on.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text, depth: 0 };
        let value = parser.value()?;
        parser.blanks();
        parser.rest.is_empty().then_some(value)
    }

    /// The property `name` of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(pairs) = self else { return None };
        pairs.iter().find(|(key, _)| key.iter().copied().eq(name.encode_utf16())).map(|(_, value)| value)
    }

    /// `JSON.stringify`, without white space.
    pub(crate) fn stringify(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(number) if number.is_finite() => out.push_str(&number_text(*number)),
            Self::Number(_) => out.push_str("null"),
            Self::Text(units) => quote(units, out),
            Self::List(values) => {
                out.push('[');
                for (at, value) in values.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    value.write(out);
                }
                out.push(']');
            }
            Self::Object(pairs) => {
                out.push('{');
                for (at, (key, value)) in pairs.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    quote(key, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// `String(value)`, as a path or a hash input: a lone surrogate is U+FFFD once it becomes bytes.
    pub(crate) fn to_js_string(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => value.to_string(),
            Self::Number(number) => number_text(*number),
            Self::Text(units) => String::from_utf16_lossy(units),
            Self::List(values) => {
                let parts: Vec<String> = values
                    .iter()
                    .map(|value| if *value == Self::Null { String::new() } else { value.to_js_string() })
                    .collect();
                parts.join(",")
            }
            Self::Object(_) => "[object Object]".into(),
        }
    }
}

/// A number as JavaScript prints it: the shortest digits, an exponent from 1e21 and below 1e-6.
fn number_text(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let shortest = format!("{number:e}");
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // `point` is how many digits stand before the decimal point.
    let point = exponent + 1;
    let body = if (count..=21).contains(&point) {
        format!("{digits}{}", "0".repeat(usize::try_from(point - count).unwrap_or(0)))
    } else if (1..=21).contains(&point) {
        let (whole, part) = digits.split_at(usize::try_from(point).unwrap_or(0));
        format!("{whole}.{part}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", "0".repeat(usize::try_from(-point).unwrap_or(0)))
    } else {
        let (first, part) = digits.split_at(1);
        let dot = if part.is_empty() { "" } else { "." };
        format!("{first}{dot}{part}e{exponent:+}")
    };
    format!("{sign}{body}")
}

fn quote(units: &[u16], out: &mut String) {
    out.push('"');
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(low) if low < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(low))),
            Ok(other) => out.push(other),
            Err(lone) => out.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
        }
    }
    out.push('"');
}

/// An object's pairs in JavaScript's order: array indexes ascending, then the others as they came;
/// a repeated key keeps its first place and its last value.
fn in_js_order(pairs: Vec<(Vec<u16>, Value)>) -> Vec<(Vec<u16>, Value)> {
    let mut places = std::collections::HashMap::new();
    let mut unique: Vec<(Vec<u16>, Value)> = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        match places.get(&key) {
            Some(&place) => {
                let slot: &mut (Vec<u16>, Value) = &mut unique[place];
                slot.1 = value;
            }
            None => {
                places.insert(key.clone(), unique.len());
                unique.push((key, value));
            }
        }
    }
    let (mut indexes, others): (Vec<_>, Vec<_>) = unique.into_iter().partition(|(key, _)| array_index(key).is_some());
    indexes.sort_by_key(|(key, _)| array_index(key));
    indexes.extend(others);
    indexes
}

/// The array index a key stands for: canonical decimal below 2^32 - 1.
fn array_index(key: &[u16]) -> Option<u32> {
    let canonical = matches!(key, [0x30]) || !matches!(key, [] | [0x30, ..]);
    if !canonical || key.len() > 10 {
        return None;
    }
    let mut value: u64 = 0;
    for unit in key {
        let digit = u64::from(*unit).checked_sub(0x30).filter(|digit| *digit < 10)?;
        value = value * 10 + digit;
    }
    u32::try_from(value).ok().filter(|index| *index != u32::MAX)
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn eat(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(token)?;
        Some(())
    }

    fn value(&mut self) -> Option<Value> {
        self.blanks();
        match self.rest.as_bytes().first()? {
            b'n' => self.eat("null").map(|()| Value::Null),
            b't' => self.eat("true").map(|()| Value::Bool(true)),
            b'f' => self.eat("false").map(|()| Value::Bool(false)),
            b'"' => self.text().map(Value::Text),
            b'[' => self.nested(Self::list),
            b'{' => self.nested(Self::object),
            _ => self.number().map(Value::Number),
        }
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Option<Value>) -> Option<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn list(&mut self) -> Option<Value> {
        self.eat("[")?;
        let mut values = Vec::new();
        self.blanks();
        if self.eat("]").is_some() {
            return Some(Value::List(values));
        }
        loop {
            values.push(self.value()?);
            self.blanks();
            if self.eat("]").is_some() {
                return Some(Value::List(values));
            }
            self.eat(",")?;
        }
    }

    fn object(&mut self) -> Option<Value> {
        self.eat("{")?;
        let mut pairs = Vec::new();
        self.blanks();
        if self.eat("}").is_some() {
            return Some(Value::Object(pairs));
        }
        loop {
            self.blanks();
            let key = self.text()?;
            self.blanks();
            self.eat(":")?;
            pairs.push((key, self.value()?));
            self.blanks();
            if self.eat("}").is_some() {
                return Some(Value::Object(in_js_order(pairs)));
            }
            self.eat(",")?;
        }
    }

    fn text(&mut self) -> Option<Vec<u16>> {
        self.eat("\"")?;
        let mut units = Vec::new();
        loop {
            let next = self.rest.chars().next()?;
            self.rest = &self.rest[next.len_utf8()..];
            match next {
                '"' => return Some(units),
                '\\' => units.push(self.escape()?),
                control if control < ' ' => return None,
                other => units.extend_from_slice(other.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        const SIMPLE: [(char, u16); 8] =
            [('"', 0x22), ('\\', 0x5c), ('/', 0x2f), ('b', 8), ('f', 12), ('n', 10), ('r', 13), ('t', 9)];
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        if next != 'u' {
            return SIMPLE.iter().find(|(letter, _)| *letter == next).map(|(_, unit)| *unit);
        }
        let digits = self.rest.get(..4)?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        self.rest = &self.rest[4..];
        u16::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self) -> Option<f64> {
        let text = self.rest;
        let mut at = usize::from(text.starts_with('-'));
        let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(at);
        if whole == 0 || (whole > 1 && text.as_bytes()[at] == b'0') {
            return None;
        }
        at += whole;
        if text[at..].starts_with('.') {
            let part = digits(at + 1);
            if part == 0 {
                return None;
            }
            at += 1 + part;
        }
        if text[at..].starts_with(['e', 'E']) {
            let sign = usize::from(text[at + 1..].starts_with(['+', '-']));
            let part = digits(at + 1 + sign);
            if part == 0 {
                return None;
            }
            at += 1 + sign + part;
        }
        self.rest = &text[at..];
        text[..at].parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    fn round(text: &str) -> Option<String> {
        Value::parse(text).map(|value| value.stringify())
    }

    #[test]
    fn prints_what_javascript_prints() {
        // Right-hand sides are what `JSON.stringify(JSON.parse(text))` gives in Node 22.
        let cases = [
            ("1.0", "1"),
            ("-0", "0"),
            ("1e3", "1000"),
            ("1E21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("123e19", "1.23e+21"),
            ("0.0000001", "1e-7"),
            ("0.000001", "0.000001"),
            ("1.5e-7", "1.5e-7"),
            ("-12.50", "-12.5"),
            ("123456789012345678901", "123456789012345680000"),
            ("12345678901234567890", "12345678901234567000"),
            ("1e400", "null"),
            ("5e-324", "5e-324"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
            (r#""\u00e9\/\u0001\u007f\b\f\n\r\t\"\\""#, "\"é/\\u0001\u{7f}\\b\\f\\n\\r\\t\\\"\\\\\""),
            (r#""\ud83d\ude00""#, "\"😀\""),
            (r#""\ud83dx""#, r#""\ud83dx""#),
            (r#""x\uDE00""#, r#""x\ude00""#),
            (
                r#"{"b":1,"10":2,"9":3,"a":4,"01":5,"4294967295":6,"4294967294":7,"b":8,"0":9}"#,
                r#"{"0":9,"9":3,"10":2,"4294967294":7,"b":8,"a":4,"01":5,"4294967295":6}"#,
            ),
            (" [ ] ", "[]"),
            ("{ }", "{}"),
            ("[1, [2, {\"x\": null}], true, false]", r#"[1,[2,{"x":null}],true,false]"#),
        ];
        for (text, expected) in cases {
            assert_eq!(round(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_json_parse_throws_on() {
        let bad = [
            "",
            "nul",
            "01",
            "1.",
            ".5",
            "-",
            "+1",
            "1e",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "'x'",
            "\"\t\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u+123\"",
            "1 2",
            "\u{feff}1",
            "[",
            "{\"a\"",
            "NaN",
            "\u{a0}1",
        ];
        for text in bad {
            assert_eq!(Value::parse(text), None, "{text:?}");
        }
        let deep = "[".repeat(100_000);
        assert_eq!(Value::parse(&deep), None, "a deep text is refused, not a crash");
    }

    #[test]
    fn strings_of_other_kinds() {
        let value = Value::parse(r#"[null, 1.0, true, "x", {"a":1}, [1,[2,null]]]"#).expect("it parses");
        let Value::List(values) = value else { panic!("a list") };
        let strings: Vec<String> = values.iter().map(Value::to_js_string).collect();
        assert_eq!(strings, ["null", "1", "true", "x", "[object Object]", "1,2,"]);
    }
}
