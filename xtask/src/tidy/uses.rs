//! Who uses whom within a crate, as its paths and methods say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use proc_macro2::{Spacing, TokenStream, TokenTree};

use super::scrub::delimiters;

/// A path through modules: the crate itself is empty, `crate::plan::axes` has two names.
type ModulePath = Vec<String>;

/// The files of one crate, by their module.
pub(crate) struct Sources<'a> {
    files: BTreeMap<ModulePath, SourceFile<'a>>,
}

/// What one file has to do with others.
struct SourceFile<'a> {
    path: &'a str,
    /// Names of its items and functions.
    defines: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths of two names or more outside of `use`, each with the module in which it stands.
    mentions: Vec<(ModulePath, Vec<String>)>,
    methods: Vec<Methods>,
}

/// One name of a `use`.
struct Import {
    /// Where the `use` stands.
    module: ModulePath,
    /// What it is called there; `*` for all that the path leads to.
    name: String,
    path: Vec<String>,
}

/// What an `impl` gives its type, and calls on it.
struct Methods {
    of: String,
    /// Nothing where it is a trait's.
    gives: BTreeSet<String>,
    calls: BTreeSet<String>,
}

/// An item, and the module whose file defines it.
type Item = (ModulePath, String);

/// What a path leads to.
enum Target {
    Module(ModulePath),
    Item(Item),
}

impl<'a> Sources<'a> {
    /// Reads files of one crate: their paths and what is in them.
    pub(crate) fn new(files: &[(&'a str, &str)]) -> Sources<'a> {
        let mut read = BTreeMap::new();
        for (path, text) in files {
            let inside = path.split_once("/src/").map_or(*path, |(_, inside)| inside);
            let inside = inside.trim_end_matches(".rs");
            let mut module: ModulePath = inside.split('/').map(str::to_owned).collect();
            if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
                module.pop();
            }
            let file = SourceFile::new(path, text, &module);
            read.insert(module, file);
        }
        Sources { files: read }
    }

    /// Which file uses which others, and for which names.
    pub(crate) fn uses(&self) -> BTreeMap<&'a str, BTreeMap<&'a str, BTreeSet<String>>> {
        let given = self.given();
        let users = self.files.iter().map(|(module, file)| {
            let mut uses: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            let mut add = |(from, name): Item| {
                if from != *module {
                    uses.entry(self.files[&from].path).or_default().insert(name);
                }
            };
            for import in &file.imports {
                match self.target(&import.module, &import.path, 0) {
                    Some(Target::Item(item)) => add(item),
                    Some(Target::Module(from)) if import.name == "*" => add((from, "*".to_owned())),
                    // A module is used where something in it is named.
                    Some(Target::Module(_)) | None => (),
                }
            }
            for (place, path) in &file.mentions {
                if let Some(Target::Item(item)) = self.target(place, path, 0) {
                    add(item);
                }
            }
            for methods in &file.methods {
                let Some(of) = self.type_of(module, methods) else { continue };
                for call in &methods.calls {
                    let givers = given.get(&(of.clone(), call));
                    if let Some(givers) = givers.filter(|givers| !givers.contains(module)) {
                        givers.iter().for_each(|giver| add((giver.clone(), call.clone())));
                    }
                }
            }
            (file.path, uses)
        });
        users.collect()
    }

    /// The modules that give a type one of its methods.
    fn given(&self) -> BTreeMap<(Item, &String), BTreeSet<ModulePath>> {
        let mut given: BTreeMap<_, BTreeSet<ModulePath>> = BTreeMap::new();
        for (module, file) in &self.files {
            for methods in &file.methods {
                let Some(of) = self.type_of(module, methods) else { continue };
                for name in &methods.gives {
                    given.entry((of.clone(), name)).or_default().insert(module.clone());
                }
            }
        }
        given
    }

    /// The type that an `impl` in a module's file is of, if it is the crate's.
    fn type_of(&self, module: &[String], methods: &Methods) -> Option<Item> {
        match self.item(module, &methods.of, 0)? {
            Target::Item(item) => Some(item),
            Target::Module(_) => None,
        }
    }

    /// What a path leads to that stands in a module; nothing where it leads out of the crate.
    fn target(&self, module: &[String], path: &[String], depth: usize) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Vec::new(),
            "self" => module.to_vec(),
            "super" => module.split_last()?.1.to_vec(),
            name => match self.item(module, name, depth)? {
                Target::Module(at) => at,
                item @ Target::Item(_) => return Some(item),
            },
        };
        while let Some((name, after)) = rest.split_first() {
            if name == "super" {
                at.pop()?;
            } else {
                match self.item(&at, name, depth).or_else(|| self.unseen(&at, name))? {
                    Target::Module(inner) => at = inner,
                    item @ Target::Item(_) => return Some(item),
                }
            }
            rest = after;
        }
        Some(Target::Module(at))
    }

    /// What a module calls by a name.
    fn item(&self, module: &[String], name: &str, depth: usize) -> Option<Target> {
        let mut inner = module.to_vec();
        inner.push(name.to_owned());
        if self.files.contains_key(&inner) {
            return Some(Target::Module(inner));
        }
        let (at, file) = self.file(module)?;
        if file.defines.contains(name) {
            return Some(Target::Item((at.to_vec(), name.to_owned())));
        }
        // Names that are handed on in a circle lead nowhere.
        if depth > 8 {
            return None;
        }
        let imports = || file.imports.iter().filter(|import| import.module == module);
        if let Some(import) = imports().find(|import| import.name == name) {
            return match import.path.as_slice() {
                [own] if own == name => None,
                path => self.target(&import.module, path, depth + 1),
            };
        }
        imports().filter(|import| import.name == "*").find_map(|import| {
            match self.target(&import.module, &import.path, depth + 1)? {
                Target::Module(from) if from != module => self.item(&from, name, depth + 1),
                _ => None,
            }
        })
    }

    /// What a module's file must define in a way that is not seen here, as a macro does.
    fn unseen(&self, module: &[String], name: &str) -> Option<Target> {
        Some(Target::Item((self.file(module)?.0.to_vec(), name.to_owned())))
    }

    /// The file in which a module stands, and the module that all of the file is.
    fn file(&self, module: &[String]) -> Option<(&[String], &SourceFile<'a>)> {
        let lengths = (0..=module.len()).rev();
        let mut found = lengths.filter_map(|length| self.files.get_key_value(&module[..length]));
        found.next().map(|(module, file)| (module.as_slice(), file))
    }
}

impl<'a> SourceFile<'a> {
    fn new(path: &'a str, text: &str, module: &ModulePath) -> SourceFile<'a> {
        let mut file = SourceFile {
            path,
            defines: BTreeSet::new(),
            imports: Vec::new(),
            mentions: Vec::new(),
            methods: Vec::new(),
        };
        if let Ok(tokens) = text.parse() {
            file.read(&Words::new(tokens), module);
        }
        file
    }

    fn read(&mut self, words: &Words, module: &ModulePath) {
        // The inline modules in which a word stands, each with its end.
        let mut inside = vec![(module.clone(), words.0.len())];
        let mut at = 0;
        while at < words.0.len() {
            inside.retain(|(_, end)| at < *end);
            let here = inside.last().map_or(module, |(module, _)| module).clone();
            match words.at(at) {
                "#" if words.is_for_tests(at) => at = words.item_end(at + 1),
                "use" => {
                    let end = words.find(at..words.0.len(), ";");
                    self.import(words, at + 1..end, &[], &here);
                    at = end;
                }
                "pub" if words.at(at + 1) == "(" => at = words.close(at + 1),
                "mod" if words.at(at + 2) == "{" => {
                    let mut inner = here;
                    inner.push(words.at(at + 1).to_owned());
                    inside.push((inner, words.close(at + 2)));
                    at += 1;
                }
                "impl" if words.is_item(at) => self.methods.extend(words.methods(at)),
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static"
                | "macro_rules" => {
                    let name = if words.at(at + 1) == "!" { at + 2 } else { at + 1 };
                    self.defines.insert(words.at(name).to_owned());
                }
                _ => {
                    let path = words.path(at);
                    at += 2 * path.len().saturating_sub(1);
                    if path.len() > 1 {
                        self.mentions.push((here, path));
                    }
                }
            }
            at += 1;
        }
    }

    /// Takes in the tree of a `use` that stands in a range of words.
    fn import(
        &mut self,
        words: &Words,
        mut range: Range<usize>,
        before: &[String],
        module: &[String],
    ) {
        while range.start < range.end {
            let mut path = before.to_vec();
            let mut at = range.start;
            // A path that opens with `::` leads out of the crate.
            while at < range.end && (words.is_name(at) || words.at(at) == "::") {
                if words.at(at) == "as" {
                    break;
                }
                if words.is_name(at) {
                    path.push(words.at(at).to_owned());
                }
                at += 1;
            }
            let mut add = |name: &str, path: Vec<String>| {
                let import = Import { module: module.to_vec(), name: name.to_owned(), path };
                self.imports.push(import);
            };
            match words.at(at) {
                "{" => {
                    let end = words.close(at);
                    self.import(words, at + 1..end, &path, module);
                    at = end + 1;
                }
                "*" => {
                    add("*", path);
                    at += 1;
                }
                "as" => {
                    add(words.at(at + 1), path);
                    at += 2;
                }
                _ => {
                    // `{self}` is the module itself.
                    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                        path.pop();
                    }
                    if let Some(name) = path.last().cloned() {
                        add(&name, path);
                    }
                }
            }
            range.start = at + 1;
        }
    }
}

/// Rust source as words: names, brackets and signs; `::` is one, a literal an empty one.
struct Words(Vec<String>);

impl Words {
    fn new(tokens: TokenStream) -> Words {
        let mut words = Vec::new();
        flatten(tokens, &mut words);
        Words(words)
    }

    fn at(&self, at: usize) -> &str {
        self.0.get(at).map_or("", String::as_str)
    }

    fn is_name(&self, at: usize) -> bool {
        self.at(at).starts_with(|first: char| first.is_alphabetic() || first == '_')
    }

    /// Where a word first stands in a range; its end if it does not.
    fn find(&self, range: Range<usize>, word: &str) -> usize {
        let end = range.end;
        range.into_iter().find(|at| self.at(*at) == word).unwrap_or(end)
    }

    /// The bracket that closes the one that stands here.
    fn close(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.0.len() {
            match self.at(at) {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" if depth == 1 => return at,
                "}" | ")" | "]" => depth -= 1,
                _ => (),
            }
        }
        self.0.len()
    }

    /// Whether an attribute stands here after which something is only compiled for tests.
    fn is_for_tests(&self, at: usize) -> bool {
        if self.at(at + 1) != "[" || self.at(at + 2) != "cfg" {
            return false;
        }
        let inner = &self.0[at + 2..self.close(at + 1)];
        let has = |word: &str| inner.iter().any(|inner| inner == word);
        has("test") && !has("not")
    }

    /// The end of the item, field or statement whose attribute stands here.
    fn item_end(&self, attribute: usize) -> usize {
        let mut at = self.close(attribute) + 1;
        while at < self.0.len() {
            match self.at(at) {
                "{" => return self.close(at),
                "(" | "[" => at = self.close(at),
                ";" | "," | "}" => return at,
                _ => (),
            }
            at += 1;
        }
        at
    }

    /// The path that begins here; nothing where none does, or one that began before.
    fn path(&self, at: usize) -> Vec<String> {
        let mut path = Vec::new();
        let goes_on = at > 0 && matches!(self.at(at - 1), "::" | ".");
        let mut next = at;
        while !goes_on && self.is_name(next) {
            path.push(self.at(next).to_owned());
            if self.at(next + 1) != "::" {
                break;
            }
            next += 2;
        }
        path
    }

    /// Whether the `impl` that stands here begins an item: it may also say what a function takes.
    fn is_item(&self, at: usize) -> bool {
        at == 0 || matches!(self.at(at - 1), "{" | "}" | ";" | "]" | "unsafe")
    }

    /// The methods of the `impl` that begins here.
    fn methods(&self, at: usize) -> Option<Methods> {
        let open = self.find(at..self.0.len(), "{");
        let head_end = self.find(at..open, "where");
        let of_trait = (at..head_end).find(|at| self.at(*at) == "for" && self.at(at + 1) != "<");
        let mut start = of_trait.unwrap_or(at) + 1;
        if of_trait.is_none() && self.at(start) == "<" {
            start = self.generics_end(start);
        }
        // The last name of its path: `&mut a::Type<B>`.
        let start = (start..head_end).find(|at| self.is_name(*at) && self.at(*at) != "mut")?;
        let of = self.path(start).pop()?;
        let (mut gives, mut calls) = (BTreeSet::new(), BTreeSet::new());
        for at in open..self.close(open) {
            let name = self.at(at).to_owned();
            let is_own = matches!(
                (self.at(at.saturating_sub(2)), self.at(at - 1)),
                ("self", ".") | ("Self", "::")
            );
            if self.at(at - 1) == "fn" {
                gives.insert(name);
            } else if is_own && matches!(self.at(at + 1), "(" | "::") {
                calls.insert(name);
            }
        }
        if of_trait.is_some() {
            gives.clear();
        }
        Some(Methods { of, gives, calls })
    }

    /// Behind the `>` that closes the `<` that stands here.
    fn generics_end(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.0.len() {
            match self.at(at) {
                "<" => depth += 1,
                ">" if self.at(at - 1) == "-" => (),
                ">" if depth == 1 => return at + 1,
                ">" => depth -= 1,
                _ => (),
            }
        }
        self.0.len()
    }
}

fn flatten(tokens: TokenStream, words: &mut Vec<String>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = delimiters(&group);
                words.push(open.to_owned());
                flatten(group.stream(), words);
                words.push(close.to_owned());
            }
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Punct(punct)
                if punct.as_char() == ':' && punct.spacing() == Spacing::Joint =>
            {
                tokens.next();
                words.push("::".to_owned());
            }
            TokenTree::Punct(punct) => words.push(punct.to_string()),
            TokenTree::Literal(_) => words.push(String::new()),
        }
    }
}
