//! The objects of a listing. Members stand in the order of nft.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

#[derive(Serialize)]
pub(super) struct Listing {
    pub nftables: Vec<Object>,
}

/// One object; the name of the variant is its only member.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Object {
    MetaInfo(MetaInfo),
    Table(Table),
    Counter(Counter),
    Set(Set),
    Map(Set),
    Chain(Chain),
    Rule(Rule),
}

#[derive(Serialize)]
pub(super) struct MetaInfo {
    pub version: &'static str,
    pub release_name: &'static str,
    pub json_schema_version: u32,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Table {
    pub family: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
    #[serde(default, skip_serializing)]
    pub comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<Json>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Counter {
    pub family: String,
    pub name: String,
    pub table: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    #[serde(default)]
    pub packets: u64,
    #[serde(default)]
    pub bytes: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Set {
    pub family: String,
    pub name: String,
    pub table: String,
    #[serde(rename = "type")]
    pub key: Json,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flags: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    #[serde(default, rename = "gc-interval", skip_serializing_if = "Option::is_none")]
    pub gc_interval: Option<u64>,
    #[serde(default, rename = "auto-merge", skip_serializing_if = "std::ops::Not::not")]
    pub auto_merge: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elem: Vec<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stmt: Option<Json>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Chain {
    pub family: String,
    pub table: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
    #[serde(default, skip_serializing)]
    pub comment: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prio: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Rule {
    pub family: String,
    pub table: String,
    pub chain: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    #[serde(default)]
    pub expr: Vec<Json>,
}
