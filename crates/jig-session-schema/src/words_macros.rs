//! Declarations of sets of words: open ones, which keep a word they do not know, and closed ones.

/// Declares an open set: a name of at most 128 characters with constants for the words known today.
macro_rules! open_words {
    (
        $(#[doc = $about:literal])*
        pub struct $Name:ident {
            $( $(#[doc = $doc:literal])* $CONSTANT:ident = $word:literal ,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Name(std::borrow::Cow<'static, str>);

        impl $Name {
            $( $(#[doc = $doc])* pub const $CONSTANT: Self = Self(std::borrow::Cow::Borrowed($word)); )*

            /// The words known today.
            pub const KNOWN: &'static [&'static str] = &[$($word),*];

            /// The word, unless it is longer than a name may be.
            #[must_use]
            pub fn new(word: impl Into<String>) -> Option<Self> {
                let word = word.into();
                // One that is known today costs no memory.
                match Self::KNOWN.iter().find(|known| **known == word) {
                    Some(known) => Some(Self(std::borrow::Cow::Borrowed(known))),
                    None => $crate::words::fits(&word).then(|| Self(word.into())),
                }
            }

            /// The word as it is written.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        open_word_impls!($Name, { $crate::words::open_schema(concat!($($about, "\n",)* ""), Self::KNOWN) });
    };
}

/// What every type made of one free word can do.
macro_rules! open_word_impls {
    ($Name:ident, $schema:block) => {
        impl std::ops::Deref for $Name {
            type Target = str;
            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl PartialEq<str> for $Name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $Name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }

        impl AsRef<str> for $Name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl $crate::shape::Shape for $Name {
            fn read(value: serde_json::Value, cx: &mut $crate::read::Reading) -> Option<Self> {
                let word = <String as $crate::shape::Shape>::read(value, cx)?;
                let name = Self::new(word);
                if name.is_none() {
                    cx.problem("is longer than 128 characters");
                }
                name
            }

            fn schema(_: &mut $crate::shape::SchemaCx) -> serde_json::Value $schema
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::deserialize(deserializer)
            }
        }
    };
}

/// Declares a closed set: an enum. Its first word is the default, what a reader takes when it has no better.
macro_rules! closed_words {
    (
        $(#[doc = $about:literal])*
        pub enum $Name:ident {
            $(#[doc = $first_doc:literal])* $First:ident = $first_word:literal,
            $( $(#[doc = $doc:literal])* $Variant:ident = $word:literal ,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $Name {
            $(#[doc = $first_doc])*
            #[default]
            $First,
            $( $(#[doc = $doc])* $Variant, )*
        }

        impl $Name {
            /// Every value, in the contract's order.
            pub const ALL: &'static [Self] = &[Self::$First, $(Self::$Variant),*];

            /// The word as it is written.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    Self::$First => $first_word,
                    $( Self::$Variant => $word, )*
                }
            }

            /// The value of a word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $first_word => Some(Self::$First),
                    $( $word => Some(Self::$Variant), )*
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $Name {
            type Err = $crate::words::NotInSet;
            fn from_str(word: &str) -> Result<Self, Self::Err> {
                Self::parse(word).ok_or($crate::words::NotInSet { words: &[$first_word, $($word),*] })
            }
        }

        impl $crate::shape::Shape for $Name {
            fn read(value: serde_json::Value, cx: &mut $crate::read::Reading) -> Option<Self> {
                let found = value.as_str().and_then(Self::parse);
                if found.is_none() {
                    cx.problem(concat!("is none of ", $first_word $(, " ", $word)*));
                }
                found
            }

            fn schema(_: &mut $crate::shape::SchemaCx) -> serde_json::Value {
                serde_json::json!({ "type": "string", "enum": [$first_word, $($word),*] })
            }
        }

        impl serde::Serialize for $Name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $Name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::shape::deserialize(deserializer)
            }
        }
    };
}
