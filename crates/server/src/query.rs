//! The query of an address, read into one struct a call by serde. A parameter that the call does not take, one that is given
//! twice and one that is not UTF-8 are errors which name it: a typo never passes silently.

use std::{
    borrow::Cow,
    fmt::{self, Display},
    str::Split,
};

use percent_encoding::percent_decode_str;
use serde::{
    Deserialize, Deserializer,
    de::{self, IntoDeserializer, Visitor},
    forward_to_deserialize_any,
};

use crate::problem::Problem;

/// Reads a query.
pub(crate) fn parse<'q, T: Deserialize<'q>>(query: Option<&'q str>) -> Result<T, Problem> {
    let pairs = Pairs { left: query.unwrap_or_default().split('&'), taken: None };
    T::deserialize(pairs).map_err(|Refused(problem)| problem)
}

/// The query of a call without parameters: it must not seem to take one, and do something else than was meant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// A whole number between two others.
pub(crate) fn whole<'de, const MIN: u64, const MAX: u64, T, D>(
    deserializer: D,
) -> Result<Option<T>, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let text = Cow::<str>::deserialize(deserializer)?;
    let number = text.parse().ok().filter(|number| (MIN..=MAX).contains(number));
    number.and_then(|number| T::try_from(number).ok()).map(Some).ok_or_else(|| {
        de::Error::custom(format_args!("it must be a whole number from {MIN} to {MAX}"))
    })
}

/// Refuses parameters that make no sense beside another, which is there.
pub(crate) fn alone(name: &str, others: &[(&str, bool)]) -> Result<(), Problem> {
    match others.iter().find(|(_, given)| *given) {
        Some((other, _)) => {
            Err(Problem::malformed(format!("{name} and {other} cannot be combined")))
        }
        None => Ok(()),
    }
}

/// What is left of a query, and the value whose name was read.
struct Pairs<'q> {
    left: Split<'q, char>,
    taken: Option<(Cow<'q, str>, &'q str)>,
}

impl<'de> Deserializer<'de> for Pairs<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'q> de::MapAccess<'q> for Pairs<'q> {
    type Error = Refused;

    fn next_key_seed<K: de::DeserializeSeed<'q>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Refused> {
        let Some(pair) = self.left.find(|pair| !pair.is_empty()) else { return Ok(None) };
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decode(name)?;
        self.taken = Some((name.clone(), value));
        seed.deserialize(Text(name)).map(Some)
    }

    fn next_value_seed<V: de::DeserializeSeed<'q>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Refused> {
        let (name, value) = self.taken.take().unwrap_or_default();
        let value = decode(value).and_then(|value| seed.deserialize(Text(value)));
        value.map_err(|Refused(problem)| Refused(problem.within(name)))
    }
}

fn decode(text: &str) -> Result<Cow<'_, str>, Refused> {
    let not_utf8 = |_| Problem::malformed("the query is not UTF-8 once its %-escapes are decoded");
    if text.contains('+') {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8().map_err(not_utf8)?;
        return Ok(Cow::Owned(decoded.into_owned()));
    }
    Ok(percent_decode_str(text).decode_utf8().map_err(not_utf8)?)
}

/// A name or a value.
struct Text<'q>(Cow<'q, str>);

impl<'de> Deserializer<'de> for Text<'de> {
    type Error = Refused;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        self.0.into_deserializer().deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        visitor.visit_some(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match &*self.0 {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(de::Error::custom("it must be true or false")),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refused> {
        match self.0.parse() {
            Ok(number) => visitor.visit_i64(number),
            Err(_) => Err(de::Error::invalid_value(de::Unexpected::Str(&self.0), &visitor)),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier ignored_any
    }
}

/// Why a query was not taken.
#[derive(Debug)]
struct Refused(Problem);

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(problem)
    }
}

impl Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.detail())
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: Display>(message: T) -> Self {
        Self(Problem::malformed(message.to_string()))
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let detail = format!("there is no parameter {name:?} here; this call takes {known}");
        Self(Problem::malformed(detail))
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self(Problem::malformed(format!("{name} is given twice")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use standings_core::{LocalDate, Score};

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Asked {
        #[serde(deserialize_with = "whole::<1, 10, _, _>")]
        limit: Option<usize>,
        name: Option<String>,
        min: Option<Score>,
        day: Option<LocalDate>,
        exact: Option<bool>,
    }

    #[test]
    fn parameters_are_read_whatever_their_escapes() {
        let asked: Asked =
            parse(Some("limit=5&name=a+b%2Bc&&min=-7&day=2026-02-21&exact=true")).unwrap();
        assert_eq!((asked.limit, asked.name.as_deref()), (Some(5), Some("a b+c")));
        assert_eq!((asked.min, asked.exact), (Score::new(-7), Some(true)));
        assert_eq!(asked.day, LocalDate::parse("2026-02-21").ok());
        for empty in [None, Some(""), Some("&&")] {
            let asked: Asked = parse(empty).unwrap();
            assert!(asked.limit.is_none() && asked.name.is_none());
        }
        assert_eq!(parse::<Asked>(Some("name")).unwrap().name.as_deref(), Some(""));
    }

    #[test]
    fn what_is_wrong_with_a_parameter_is_said_with_its_name() {
        for (query, detail) in [
            (
                "limit=5&lmit=3",
                "there is no parameter \"lmit\" here; this call takes limit, name, min, day, exact",
            ),
            ("limit=5&limit=6", "limit is given twice"),
            ("%6cimit=5&limit=5", "limit is given twice"),
            ("limit=11", "limit: it must be a whole number from 1 to 10"),
            ("limit=ten", "limit: it must be a whole number from 1 to 10"),
            ("limit=", "limit: it must be a whole number from 1 to 10"),
            ("exact=1", "exact: it must be true or false"),
            ("day=today", "day: a date is written 2026-02-21"),
            ("name=%ff", "name: the query is not UTF-8 once its %-escapes are decoded"),
            ("%ff=1", "the query is not UTF-8 once its %-escapes are decoded"),
        ] {
            assert_eq!(parse::<Asked>(Some(query)).unwrap_err().detail(), detail, "{query}");
        }
        let low = parse::<Asked>(Some("min=low")).unwrap_err();
        assert!(low.detail().contains("min: ") && low.detail().contains("whole number within"));
        let none = parse::<Nothing>(Some("x=1")).map(|Nothing {}| ()).unwrap_err();
        assert_eq!(none.detail(), "there is no parameter \"x\" here; this call takes none");
    }
}
