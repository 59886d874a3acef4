//! The one declaration of a record, from which its type, writer, reader, field table and schema are made.

/// Declares a record. An entry is `PRESENCE field: Type = "contractName"`, where PRESENCE is
///
/// * `version`: the format's number, always written, a higher one is unsupported (`is LITERAL` gives it)
/// * `tag`: the word that tells the variants of a line apart (`is LITERAL` gives it)
/// * `required`: without it there is no record
/// * `needed`: always written with a value; a reader takes its absence as unknown
/// * `seed`: always written, null when unknown; a reader takes absent as null
/// * `added`: left out when unknown
///
/// `@listed` after a field marks it as one that a listing shows: a reader of many files passes over the others.
///
/// `checked by PATH` names a function of the record and the [`Reading`](crate::read::Reading) that reports what the
/// types cannot say; the record stays as it was read.
macro_rules! record {
    (
        $(#[doc = $about:literal])*
        pub struct $Name:ident $(checked by $check:path)? {
            $( $(#[doc = $doc:literal])* $presence:ident $field:ident : $Ty:ty = $key:literal $(is $constant:literal)? $(@ $listed:ident)? ,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct $Name {
            $( $(#[doc = $doc])* pub $field: $Ty, )*
            /// Fields this version does not know; they are written again after the known ones.
            pub unknown: $crate::shape::Unknown,
        }

        impl $Name {
            /// Every field in the order in which it is written.
            pub const FIELDS: &'static [$crate::shape::FieldInfo] = &[
                $( $crate::shape::FieldInfo {
                    name: $key,
                    doc: concat!($($doc, "\n",)* ""),
                    presence: $crate::shape::Presence::word(stringify!($presence)),
                }, )*
            ];

            /// An empty record: set the fields that are known.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            $( record_setter! { $presence $field : $Ty } )*

            /// Reads one document, bounded by [`crate::limits::DOCUMENT_BYTES`], as leniently as the contract asks.
            ///
            /// # Errors
            /// When there is no record in these bytes, or one of a newer version.
            pub fn read(bytes: &[u8]) -> Result<$crate::read::Read<Self>, $crate::read::ReadError> {
                $crate::read::document(bytes)
            }

            /// Reads a document that is parsed already.
            ///
            /// # Errors
            /// When there is no record in this value, or one of a newer version.
            pub fn read_value(value: serde_json::Value) -> Result<$crate::read::Read<Self>, $crate::read::ReadError> {
                $crate::read::value(value)
            }

            /// The document as it is written: known fields in the contract's order, then the unknown ones.
            #[must_use]
            pub fn to_document(&self) -> serde_json::Map<String, serde_json::Value> {
                $crate::shape::to_map(self)
            }
        }

        impl $crate::shape::Shape for $Name {
            fn read(value: serde_json::Value, cx: &mut $crate::read::Reading) -> Option<Self> {
                let serde_json::Value::Object(map) = value else {
                    cx.problem("is not an object");
                    return None;
                };
                <Self as $crate::shape::Record>::read_map(map, cx)
            }

            fn strict<'de, D: serde::Deserializer<'de>>(
                deserializer: D,
                extent: $crate::shape::Extent,
            ) -> Result<Self, D::Error> {
                #[allow(non_camel_case_types)]
                enum Key_ {
                    $( $field, )*
                    Unknown_(Option<String>),
                }
                struct Fields_($crate::shape::Extent);
                impl<'de> serde::de::Visitor<'de> for Fields_ {
                    type Value = $Name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$Name, A::Error> {
                        const MARKS: bool = false $($( || record_listed!($listed) )?)*;
                        let extent = self.0;
                        $( let mut $field: Option<$Ty> = None; )*
                        let mut unknown = $crate::shape::Unknown::default();
                        while let Some(place) = map.next_key_seed($crate::strict::Key(|key: &str| match key {
                            $( $key if extent.wants(MARKS, false $( || record_listed!($listed) )?) => Key_::$field, )*
                            other => Key_::Unknown_(extent.keeps_unknown().then(|| other.to_owned())),
                        }))? {
                            match place {
                                $( Key_::$field => {
                                    // Of two equal keys the last one counts: the lenient reader knows how.
                                    if $field.is_some() {
                                        return Err(serde::de::Error::duplicate_field($key));
                                    }
                                    $field = Some(record_strict!($presence, $Ty, map, extent $(, $constant)?));
                                } )*
                                Key_::Unknown_(Some(key)) => unknown.insert(key, map.next_value()?),
                                Key_::Unknown_(None) => {
                                    map.next_value::<$crate::strict::Skipped>()?;
                                }
                            }
                        }
                        let record = $Name {
                            $( $field: record_strict_finish!($presence, $field, $key), )*
                            unknown,
                        };
                        $(
                            let mut cx = $crate::read::Reading::default();
                            $check(&record, &mut cx);
                            if !cx.is_clean() {
                                return Err(serde::de::Error::custom("is not as it should be"));
                            }
                        )?
                        Ok(record)
                    }
                }
                deserializer.deserialize_map(Fields_(extent))
            }

            fn schema(cx: &mut $crate::shape::SchemaCx) -> serde_json::Value {
                cx.reference(stringify!($Name), |cx| {
                    let mut object = $crate::shape::ObjectSchema::new(concat!($($about, "\n",)* ""));
                    $( record_schema!(object, cx, $presence, $Ty, $key, concat!($($doc, "\n",)* "") $(, $constant)?); )*
                    object.finish()
                })
            }
        }

        impl $crate::shape::Record for $Name {
            const FIELDS: &'static [$crate::shape::FieldInfo] = Self::FIELDS;

            fn read_map(map: serde_json::Map<String, serde_json::Value>, cx: &mut $crate::read::Reading) -> Option<Self> {
                $( let mut $field: Option<Option<$Ty>> = None; )*
                const MARKS: bool = false $($( || record_listed!($listed) )?)*;
                let extent = cx.extent();
                let mut unknown = $crate::shape::Unknown::default();
                for (key, value) in map {
                    match key.as_str() {
                        $( $key if extent.wants(MARKS, false $( || record_listed!($listed) )?) => {
                            cx.enter($key);
                            $field = Some(record_read!($presence, $Ty, value, cx $(, $constant)?));
                            cx.leave();
                        } )*
                        _ if extent.keeps_unknown() => unknown.insert(key, value),
                        _ => {}
                    }
                }
                let record = Self {
                    $( $field: record_finish!($presence, $field, $key, cx), )*
                    unknown,
                };
                $( $check(&record, cx); )?
                Some(record)
            }

            fn write_known<F: $crate::shape::Fields>(&self, fields: &mut F) -> Result<(), F::Error> {
                $( record_write!(fields, self.$field, $presence, $key $(, $constant)?); )*
                Ok(())
            }

            fn unknown_fields(&self) -> &serde_json::Map<String, serde_json::Value> {
                self.unknown.fields()
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::shape::serialize(self, stringify!($Name), serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::deserialize(deserializer)
            }
        }

        schemars_impl!($Name);
    };
}

macro_rules! record_setter {
    (version $field:ident : $Ty:ty) => {};
    (tag $field:ident : $Ty:ty) => {};
    ($presence:ident $field:ident : $Ty:ty) => {
        #[doc = concat!("This record with its field `", stringify!($field), "` set.")]
        #[must_use]
        pub fn $field(mut self, value: $Ty) -> Self {
            self.$field = value;
            self
        }
    };
}

macro_rules! record_read {
    (version, $Ty:ty, $value:ident, $cx:ident, $constant:literal) => {
        $cx.version(&$value, &serde_json::Value::from($constant))
    };
    (tag, $Ty:ty, $value:ident, $cx:ident, $constant:literal) => {
        $cx.tag(&$value, $constant)
    };
    (required, $Ty:ty, $value:ident, $cx:ident) => {
        <$Ty as $crate::shape::Shape>::read($value, $cx)
    };
    ($presence:ident, $Ty:ty, $value:ident, $cx:ident) => {
        if $value.is_null() {
            Some(<$Ty as $crate::shape::Shape>::null())
        } else {
            <$Ty as $crate::shape::Shape>::read($value, $cx)
        }
    };
}

macro_rules! record_listed {
    (listed) => {
        true
    };
}

macro_rules! record_strict {
    (version, $Ty:ty, $map:ident, $extent:ident, $constant:literal) => {
        if $crate::read::same(&$map.next_value()?, &serde_json::Value::from($constant)) {
            $crate::shape::Tag
        } else {
            return Err(serde::de::Error::custom("is another version"));
        }
    };
    (tag, $Ty:ty, $map:ident, $extent:ident, $constant:literal) => {
        record_strict!(version, $Ty, $map, $extent, $constant)
    };
    (required, $Ty:ty, $map:ident, $extent:ident) => {
        $map.next_value_seed($crate::strict::Required::<$Ty>::of($extent))?
    };
    ($presence:ident, $Ty:ty, $map:ident, $extent:ident) => {
        $map.next_value_seed($crate::strict::OrNull::<$Ty>::of($extent))?
    };
}

macro_rules! record_strict_finish {
    (version, $field:ident, $key:literal) => {
        $field.ok_or_else(|| serde::de::Error::missing_field($key))?
    };
    (tag, $field:ident, $key:literal) => {
        record_strict_finish!(version, $field, $key)
    };
    (required, $field:ident, $key:literal) => {
        record_strict_finish!(version, $field, $key)
    };
    ($presence:ident, $field:ident, $key:literal) => {
        $field.unwrap_or_default()
    };
}

macro_rules! record_finish {
    (version, $field:ident, $key:literal, $cx:ident) => {
        match $field {
            Some(Some(value)) => value,
            Some(None) => return None,
            None => {
                $cx.missing($key);
                return None;
            }
        }
    };
    (tag, $field:ident, $key:literal, $cx:ident) => {
        record_finish!(version, $field, $key, $cx)
    };
    (required, $field:ident, $key:literal, $cx:ident) => {
        record_finish!(version, $field, $key, $cx)
    };
    ($presence:ident, $field:ident, $key:literal, $cx:ident) => {
        $field.flatten().unwrap_or_default()
    };
}

macro_rules! record_write {
    ($fields:ident, $value:expr, version, $key:literal, $constant:literal) => {
        $fields.field($key, &$constant)?;
    };
    ($fields:ident, $value:expr, tag, $key:literal, $constant:literal) => {
        $fields.field($key, $constant)?;
    };
    ($fields:ident, $value:expr, added, $key:literal) => {
        if !$crate::shape::Shape::is_absent(&$value) {
            $crate::shape::Shape::write(&$value, $fields, $key)?;
        }
    };
    ($fields:ident, $value:expr, $presence:ident, $key:literal) => {
        $crate::shape::Shape::write(&$value, $fields, $key)?;
    };
}

macro_rules! record_schema {
    ($object:ident, $cx:ident, version, $Ty:ty, $key:literal, $doc:expr, $constant:literal) => {
        $object.constant($key, $doc, serde_json::Value::from($constant));
    };
    ($object:ident, $cx:ident, tag, $Ty:ty, $key:literal, $doc:expr, $constant:literal) => {
        $object.constant($key, $doc, serde_json::Value::from($constant));
    };
    ($object:ident, $cx:ident, $presence:ident, $Ty:ty, $key:literal, $doc:expr) => {
        $object.field::<$Ty>($cx, $key, $doc, $crate::shape::Presence::word(stringify!($presence)));
    };
}

macro_rules! schemars_impl {
    ($Name:ident) => {
        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $Name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($Name).into()
            }

            fn schema_id() -> std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($Name)).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::json_schema::described_to::<Self>(generator)
            }
        }
    };
}

/// Declares the lines of a protocol: an enum whose variants are records distinguished by one word.
macro_rules! lines {
    (
        $(#[doc = $about:literal])*
        pub enum $Name:ident by $tag:literal {
            $( $(#[doc = $doc:literal])* $Variant:ident($Record:ident) = $word:literal ,)*
        }
    ) => {
        $(#[doc = $about])*
        // A line is read, used and dropped: a box around the larger ones would cost more than it saves.
        #[allow(clippy::large_enum_variant)]
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum $Name {
            $( $(#[doc = $doc])* $Variant($Record), )*
            /// A line whose word this version does not know: skipped.
            Other(String),
        }

        impl $Name {
            /// The words of the lines, as written.
            pub const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word of this line.
            #[must_use]
            pub fn word(&self) -> &str {
                match self {
                    $( Self::$Variant(_) => $word, )*
                    Self::Other(word) => word,
                }
            }

            /// Reads one line, bounded by [`crate::limits::LINE_BYTES`].
            ///
            /// # Errors
            /// When there is no such record in these bytes, or one of a newer version.
            pub fn read(bytes: &[u8]) -> Result<$crate::read::Read<Self>, $crate::read::ReadError> {
                $crate::read::document(bytes)
            }

            /// Reads a line that is parsed already.
            ///
            /// # Errors
            /// When there is no such record in this value, or one of a newer version.
            pub fn read_value(value: serde_json::Value) -> Result<$crate::read::Read<Self>, $crate::read::ReadError> {
                $crate::read::value(value)
            }

            /// The line as it is written.
            #[must_use]
            pub fn to_document(&self) -> serde_json::Map<String, serde_json::Value> {
                $crate::shape::to_map(self)
            }

            /// The records of the lines: word, meaning and fields.
            pub const LINES: &'static [(&'static str, &'static str, &'static [$crate::shape::FieldInfo])] = &[
                $( ($word, concat!($($doc, "\n",)* ""), $Record::FIELDS), )*
            ];
        }

        impl Default for $Name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        $( impl From<$Record> for $Name {
            fn from(record: $Record) -> Self {
                Self::$Variant(record)
            }
        } )*

        impl $crate::shape::Shape for $Name {
            fn read(value: serde_json::Value, cx: &mut $crate::read::Reading) -> Option<Self> {
                let serde_json::Value::Object(map) = value else {
                    cx.problem("is not an object");
                    return None;
                };
                match map.get($tag).and_then(serde_json::Value::as_str) {
                    $( Some($word) => <$Record as $crate::shape::Record>::read_map(map, cx).map(Self::$Variant), )*
                    Some(other) => Some(Self::Other(other.to_owned())),
                    None => {
                        cx.missing($tag);
                        None
                    }
                }
            }

            fn schema(cx: &mut $crate::shape::SchemaCx) -> serde_json::Value {
                cx.reference(stringify!($Name), |cx| {
                    let variants = vec![$( <$Record as $crate::shape::Shape>::schema(cx) ),*];
                    $crate::shape::lines_schema(cx, concat!($($about, "\n",)* ""), $tag, Self::WORDS, variants)
                })
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $( Self::$Variant(record) => serde::Serialize::serialize(record, serializer), )*
                    Self::Other(word) => {
                        use serde::ser::SerializeMap;
                        let mut map = serializer.serialize_map(Some(1))?;
                        map.serialize_entry($tag, word)?;
                        map.end()
                    }
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::deserialize(deserializer)
            }
        }

        schemars_impl!($Name);
    };
}
