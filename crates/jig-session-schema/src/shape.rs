//! What every shape can do: read itself leniently, write itself in the contract's order, describe itself.

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

pub use crate::json_schema::Side;
pub(crate) use crate::json_schema::{ObjectSchema, lines_schema, prose};
#[doc(hidden)]
pub use crate::json_schema::{SchemaCx, schema_of};

use crate::json_schema::nullable;
use crate::limits::COUNT_MAX;
use crate::read::Reading;

#[doc(hidden)]
pub use crate::read::Extent;

/// When a field is written, and what its absence means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Presence {
    /// The format's number, or the word of a line: a constant.
    Constant,
    /// Without it there is no record.
    Required,
    /// Always written with a value; a reader takes its absence as unknown.
    Needed,
    /// Always written, null when unknown.
    Seed,
    /// Left out when unknown.
    Added,
}

impl Presence {
    pub(crate) const fn word(word: &str) -> Self {
        match word.as_bytes() {
            b"version" | b"tag" => Self::Constant,
            b"required" => Self::Required,
            b"needed" => Self::Needed,
            b"seed" => Self::Seed,
            _ => Self::Added,
        }
    }
}

/// One field of a record, for tables and documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FieldInfo {
    /// The contract's name.
    pub name: &'static str,
    /// Meaning, unit and range.
    pub doc: &'static str,
    /// When it is written.
    pub presence: Presence,
}

/// A constant of a record: it holds nothing, since its value is fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag;

/// A type that can stand in a document.
#[doc(hidden)]
pub trait Shape: Serialize + Sized {
    /// Reads a value that is not null; what cannot be read becomes a problem and None.
    fn read(value: Value, cx: &mut Reading) -> Option<Self>;

    /// Reads a value of which nothing has to be forgiven, straight from its text.
    ///
    /// # Errors
    /// When there is anything to forgive: then [`Shape::read`] decides.
    #[doc(hidden)]
    fn strict<'de, D: serde::Deserializer<'de>>(deserializer: D, extent: Extent) -> Result<Self, D::Error> {
        crate::strict::by_value(deserializer, extent)
    }

    /// What null means; [`Patch`] tells it from absence.
    #[must_use]
    fn null() -> Self
    where
        Self: Default,
    {
        Self::default()
    }

    /// Whether an `added` field with this value is left out.
    fn is_absent(&self) -> bool {
        false
    }

    /// Writes this value under its key. A number beyond what every JSON reader holds exactly is written as the largest
    /// that is: what is written is read.
    ///
    /// # Errors
    /// What the serializer reports.
    #[doc(hidden)]
    fn write<F: Fields>(&self, fields: &mut F, key: &'static str) -> Result<(), F::Error> {
        fields.field(key, self)
    }

    /// Whether null is written on purpose, even in a field that is left out when unknown.
    const WRITES_NULL: bool = false;

    /// The JSON Schema of this shape.
    fn schema(cx: &mut SchemaCx) -> Value;
}

/// A shape that is an object with named fields.
#[doc(hidden)]
pub trait Record: Shape {
    /// Every field in the order in which it is written.
    const FIELDS: &'static [FieldInfo];

    /// Reads the fields; None when one without which there is no record is missing.
    fn read_map(map: Map<String, Value>, cx: &mut Reading) -> Option<Self>;

    /// Writes the known fields.
    ///
    /// # Errors
    /// What the serializer reports.
    fn write_known<F: Fields>(&self, fields: &mut F) -> Result<(), F::Error>;

    /// The fields this version does not know.
    fn unknown_fields(&self) -> &Map<String, Value>;
}

/// The fields of a record that this version does not know, kept for a read-modify-write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unknown(Option<Box<Map<String, Value>>>);

static NOTHING: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl Unknown {
    /// Keeps a field.
    pub fn insert(&mut self, key: String, value: Value) {
        self.0.get_or_insert_default().insert(key, value);
    }

    /// The fields, in their order.
    #[must_use]
    pub fn fields(&self) -> &Map<String, Value> {
        self.0.as_deref().unwrap_or(&NOTHING)
    }
}

/// Where a record's known fields are written to. Their keys are known when the program is built, and a serializer that
/// knows so spends nothing on looking at them.
#[doc(hidden)]
pub trait Fields {
    /// What the serializer reports.
    type Error;

    /// Writes one field.
    ///
    /// # Errors
    /// What the serializer reports.
    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Self::Error>;
}

struct Struct<S>(S);

impl<S: SerializeStruct> Fields for Struct<S> {
    type Error = S::Error;

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), S::Error> {
        self.0.serialize_field(key, value)
    }
}

struct Entries<M>(M);

impl<M: SerializeMap> Fields for Entries<M> {
    type Error = M::Error;

    fn field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), M::Error> {
        self.0.serialize_entry(key, value)
    }
}

pub(crate) fn serialize<R: Record, S: Serializer>(
    record: &R,
    name: &'static str,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let unknown = record.unknown_fields();
    if unknown.is_empty() {
        let mut fields = Struct(serializer.serialize_struct(name, R::FIELDS.len())?);
        record.write_known(&mut fields)?;
        return fields.0.end();
    }
    let mut entries = Entries(serializer.serialize_map(None)?);
    record.write_known(&mut entries)?;
    unknown.iter().try_for_each(|(key, value)| entries.0.serialize_entry(key, value))?;
    entries.0.end()
}

pub(crate) fn deserialize<'de, T: Shape, D: serde::Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let value = <Value as serde::Deserialize>::deserialize(deserializer)?;
    crate::read::value(value).map(|read| read.value).map_err(serde::de::Error::custom)
}

/// Our shapes have string keys and finite numbers or null only, so they always become a map.
pub(crate) fn to_map(shape: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(shape) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// A change to a field: an event's absent field leaves it, null clears it, a value sets it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// Not given: unchanged.
    #[default]
    Keep,
    /// Given as null: unknown from now on.
    Clear,
    /// Given.
    Set(T),
}

impl<T> Patch<T> {
    /// The field after this change.
    pub fn apply(self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value),
        }
    }

    /// The value, if one was given.
    pub fn set(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }
}

impl<T> From<Option<T>> for Patch<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }
}

impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => value.serialize(serializer),
            Self::Keep | Self::Clear => serializer.serialize_unit(),
        }
    }
}

impl<T: Shape> Shape for Patch<T> {
    const WRITES_NULL: bool = true;

    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        if value.is_null() { Some(Self::Clear) } else { T::read(value, cx).map(Self::Set) }
    }

    fn null() -> Self {
        Self::Clear
    }

    fn is_absent(&self) -> bool {
        matches!(self, Self::Keep)
    }

    fn write<F: Fields>(&self, fields: &mut F, key: &'static str) -> Result<(), F::Error> {
        match self {
            Self::Set(value) => value.write(fields, key),
            Self::Keep | Self::Clear => fields.field(key, &()),
        }
    }

    fn schema(cx: &mut SchemaCx) -> Value {
        nullable(T::schema(cx))
    }
}

impl<T: Shape> Shape for Option<T> {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        if value.is_null() { Some(None) } else { T::read(value, cx).map(Some) }
    }

    fn strict<'de, D: serde::Deserializer<'de>>(deserializer: D, extent: Extent) -> Result<Self, D::Error> {
        T::strict(deserializer, extent).map(Some)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn write<F: Fields>(&self, fields: &mut F, key: &'static str) -> Result<(), F::Error> {
        match self {
            Some(value) => value.write(fields, key),
            None => fields.field(key, &()),
        }
    }

    fn schema(cx: &mut SchemaCx) -> Value {
        nullable(T::schema(cx))
    }
}

impl<T: Shape> Shape for Box<T> {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        T::read(value, cx).map(Self::new)
    }

    fn strict<'de, D: serde::Deserializer<'de>>(deserializer: D, extent: Extent) -> Result<Self, D::Error> {
        T::strict(deserializer, extent).map(Self::new)
    }

    fn schema(cx: &mut SchemaCx) -> Value {
        T::schema(cx)
    }
}

impl<T: Shape> Shape for Vec<T> {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        let Value::Array(items) = value else {
            cx.problem("is not a list");
            return None;
        };
        let mut out = Self::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            cx.enter_index(index);
            out.extend(T::read(item, cx));
            cx.leave();
        }
        Some(out)
    }

    fn strict<'de, D: serde::Deserializer<'de>>(deserializer: D, extent: Extent) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(crate::strict::List::of(extent))
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn schema(cx: &mut SchemaCx) -> Value {
        json!({ "type": "array", "items": T::schema(cx) })
    }
}

/// A value that another program chose: any JSON is right, and of an object the fields of `T` are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Foreign<T>(pub T);

impl<T> std::ops::Deref for Foreign<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Serialize> Serialize for Foreign<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<T: Shape + Default + PartialEq> Shape for Foreign<T> {
    fn read(value: Value, _: &mut Reading) -> Option<Self> {
        // What does not fit is no fault of the document.
        Some(Self(T::read(value, &mut Reading::default()).unwrap_or_default()))
    }

    fn is_absent(&self) -> bool {
        self.0 == T::default()
    }

    fn schema(_: &mut SchemaCx) -> Value {
        json!({})
    }
}

/// A map with free names keeps its order: an answer lists names in the request's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Named<T> {
    /// The entry of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Sets the entry of a name.
    pub fn insert(&mut self, name: impl Into<String>, value: T) {
        let name = name.into();
        match self.0.iter_mut().find(|(key, _)| *key == name) {
            Some(entry) => entry.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// The entries in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T> FromIterator<(String, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<T: Shape> Shape for Named<T> {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        let Value::Object(map) = value else {
            cx.problem("is not an object");
            return None;
        };
        let mut out = Vec::with_capacity(map.len());
        for (name, value) in map {
            cx.enter_name(&name);
            let value = T::read(value, cx);
            cx.leave();
            out.extend(value.map(|value| (name, value)));
        }
        Some(Self(out))
    }

    fn is_absent(&self) -> bool {
        self.0.is_empty()
    }

    fn schema(cx: &mut SchemaCx) -> Value {
        json!({ "type": "object", "additionalProperties": T::schema(cx) })
    }
}

/// A pair of texts, written as a list of two.
impl Shape for (String, String) {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        match <[String; 2]>::try_from(<Vec<String> as Shape>::read(value, cx)?) {
            Ok([first, second]) => Some((first, second)),
            Err(_) => {
                cx.problem("is not a list of two");
                None
            }
        }
    }

    fn schema(_: &mut SchemaCx) -> Value {
        json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 })
    }
}

macro_rules! plain_shape {
    ($Ty:ty, $message:literal, $schema:tt, |$value:ident| $read:expr $(, |$held:ident| $held_to:expr)?) => {
        impl Shape for $Ty {
            $(
                fn write<F: Fields>(&self, fields: &mut F, key: &'static str) -> Result<(), F::Error> {
                    let $held = *self;
                    fields.field(key, &$held_to)
                }
            )?

            fn read($value: Value, cx: &mut Reading) -> Option<Self> {
                let read = $read;
                if read.is_none() {
                    cx.problem($message);
                }
                read
            }

            fn schema(_: &mut SchemaCx) -> Value {
                json!($schema)
            }
        }
    };
}

plain_shape!(String, "is not a string", { "type": "string" }, |value| match value {
    Value::String(text) => Some(text),
    _ => None,
});
plain_shape!(bool, "is not true or false", { "type": "boolean" }, |value| value.as_bool());
plain_shape!(f64, "is not a number", { "type": "number" }, |value| value.as_f64());
plain_shape!(u64, "is not a count", { "type": "integer", "minimum": 0, "maximum": COUNT_MAX }, |value| count(&value),
    |number| number.min(COUNT_MAX));
plain_shape!(i64, "is not a whole number", { "type": "integer", "minimum": (-(COUNT_MAX as i64)), "maximum": COUNT_MAX },
    |value| whole(&value), |number| number.clamp(-(COUNT_MAX as i64), COUNT_MAX as i64));
plain_shape!(u32, "is not a process id", { "type": "integer", "minimum": 1, "maximum": 2_147_483_647_u32 },
    |value| count(&value).filter(|n| (1..=2_147_483_647).contains(n)).and_then(|n| u32::try_from(n).ok()));
plain_shape!(u16, "is not a small count", { "type": "integer", "minimum": 0, "maximum": 65_535 },
    |value| count(&value).and_then(|n| u16::try_from(n).ok()));
plain_shape!(u8, "is not a whole number from 0 to 100", { "type": "integer", "minimum": 0, "maximum": 100 },
    |value| count(&value).filter(|n| *n <= 100).and_then(|n| u8::try_from(n).ok()), |number| number.min(100));
plain_shape!(i32, "is not a small whole number",
    { "type": "integer", "minimum": (i32::MIN), "maximum": (i32::MAX) },
    |value| whole(&value).and_then(|n| i32::try_from(n).ok()));

impl Shape for Value {
    fn read(value: Value, _: &mut Reading) -> Option<Self> {
        Some(value)
    }

    fn is_absent(&self) -> bool {
        self.is_null()
    }

    fn schema(_: &mut SchemaCx) -> Value {
        json!({})
    }
}

impl Shape for Map<String, Value> {
    fn read(value: Value, cx: &mut Reading) -> Option<Self> {
        if let Value::Object(map) = value {
            return Some(map);
        }
        cx.problem("is not an object");
        None
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }

    fn schema(_: &mut SchemaCx) -> Value {
        json!({ "type": "object" })
    }
}

/// A whole number that every JSON reader holds exactly; 1.0 is 1, as some languages write it.
fn whole(value: &Value) -> Option<i64> {
    let limit = COUNT_MAX as i64;
    let number = value.as_i64().or_else(|| {
        let float = value.as_f64()?;
        (float.fract() == 0.0 && float.abs() <= limit as f64).then_some(float as i64)
    })?;
    (-limit..=limit).contains(&number).then_some(number)
}

fn count(value: &Value) -> Option<u64> {
    whole(value).and_then(|number| u64::try_from(number).ok())
}
