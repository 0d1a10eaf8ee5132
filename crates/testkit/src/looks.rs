//! How a page looks, and what it tells where it is not seen, as facts that can be compared.
//!
//! ```text
//!   Picture   a part of a page in 12 x 12 tiles of mean brightness: the same on machines whose fonts differ a
//!             little, another where something is missing, unreadable or elsewhere
//!   findings  what the accessibility tree lacks: names, landmarks, the order of headings
//!   axe       what axe-core finds
//! ```

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::Browser;

/// Tiles along either side.
const TILES: usize = 12;
/// Most frames that are taken until two are the same.
const FRAMES: usize = 20;

/// A part of a page as mean brightness of its tiles, row by row, 0 to 255.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture([u8; TILES * TILES]);

/// How far two pictures are apart, in steps of brightness.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    /// The mean over all tiles.
    pub mean: f64,
    /// The most of any tile.
    pub most: u8,
}

impl Distance {
    /// Whether they show the same. On one machine they are the same to the last step, and on
    /// another that smooths its fonts otherwise nearly; a paragraph that is gone or a chart that is
    /// elsewhere moves a tile by 24 and the mean by 2.
    #[must_use]
    pub fn is_small(&self) -> bool {
        self.mean <= 1.2 && self.most <= 16
    }
}

impl Picture {
    /// How far it is from another one.
    #[must_use]
    pub fn distance(&self, other: &Picture) -> Distance {
        let apart = || self.0.iter().zip(&other.0).map(|(one, other)| one.abs_diff(*other));
        let sum: f64 = apart().map(f64::from).sum();
        Distance { mean: sum / self.0.len() as f64, most: apart().max().unwrap_or(0) }
    }

    /// As text: a line for each row, two hexadecimal digits for each tile.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in self.0.chunks(TILES) {
            row.iter().for_each(|tile| _ = write!(text, "{tile:02x}"));
            text.push('\n');
        }
        text
    }

    /// From [`Picture::text`]; none where it is no such text.
    #[must_use]
    pub fn read(text: &str) -> Option<Picture> {
        let digits: String = text.split_whitespace().collect();
        let tile = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
        let tiles: Option<Vec<u8>> = (0..TILES * TILES).map(tile).collect();
        (digits.len() == 2 * TILES * TILES).then_some(())?;
        tiles?.try_into().ok().map(Picture)
    }
}

/// Pictures that were looked at and kept, by name.
///
/// A file has a line `= NAME` and the [`Picture::text`] for each. With `RAIDLOOM_BLESS=1` it is
/// written anew.
#[derive(Debug)]
pub struct KeptPictures {
    path: std::path::PathBuf,
    known: Vec<(String, Picture)>,
    seen: Vec<(String, Picture)>,
}

impl KeptPictures {
    /// Those of a file; none where it is not there.
    #[must_use]
    pub fn open(path: impl Into<std::path::PathBuf>) -> KeptPictures {
        let path = path.into();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let parts = text.split("= ").filter_map(|part| {
            let (name, tiles) = part.split_once('\n')?;
            Some((name.to_owned(), Picture::read(tiles)?))
        });
        KeptPictures { path, known: parts.collect(), seen: Vec::new() }
    }

    /// What is known by a name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Picture> {
        self.known.iter().find(|(known, _)| known == name).map(|(_, picture)| picture)
    }

    /// Holds a picture against the one that was kept.
    pub fn hold(&mut self, name: &str, picture: Picture) {
        self.seen.push((name.to_owned(), picture));
    }

    /// Does not ask for those whose name ends so.
    pub fn leave_out(&mut self, ending: &str) {
        self.known.retain(|(name, _)| !name.ends_with(ending));
    }

    /// What differs from what was kept, or is missing on either side; with `RAIDLOOM_BLESS=1`
    /// nothing, and the file is written.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn differences(self) -> Vec<String> {
        if std::env::var_os("RAIDLOOM_BLESS").is_some_and(|value| value == "1") {
            let part =
                |(name, picture): &(String, Picture)| format!("= {name}\n{}", picture.text());
            let text: String = self.seen.iter().map(part).collect();
            std::fs::write(&self.path, text).expect("the file of pictures");
            return Vec::new();
        }
        let mut differences = Vec::new();
        for (name, picture) in &self.seen {
            match self.find(name) {
                None => differences.push(format!("{name}: was never kept")),
                Some(known) => {
                    let distance = known.distance(picture);
                    if !distance.is_small() {
                        differences.push(format!("{name}: {distance:?}"));
                    }
                }
            }
        }
        let seen = |name: &str| self.seen.iter().any(|(seen, _)| seen == name);
        let gone = self.known.iter().filter(|(name, _)| !seen(name));
        differences.extend(gone.map(|(name, _)| format!("{name}: is not there any more")));
        differences
    }
}

impl Browser {
    /// Whether the page's Japanese is drawn as in kept pictures: with IPAGothic, which is Debian's
    /// `fonts-ipafont-gothic`. Where it is not, the test says so, and in CI it fails.
    pub fn draws_japanese_as_debian(&mut self) -> bool {
        // Its letters are half as wide as high, which those of the fonts beside it are not.
        let drawn = self.value(
            "(() => { const canvas = document.createElement('canvas'); \
             const context = canvas.getContext('2d', { willReadFrequently: true }); \
             const drawn = (fonts) => { canvas.width = canvas.height = 120; \
             context.font = `100px ${fonts}`; context.fillText('結', 5, 100); \
             return context.getImageData(0, 0, 120, 120).data.join(); }; \
             const same = drawn(getComputedStyle(document.body).fontFamily) === drawn('IPAGothic'); \
             return same && Math.abs(context.measureText('raid').width - 200) < 1; })()",
        );
        if drawn != true {
            crate::missing!("pictures in Japanese: apt-get install -y fonts-ipafont-gothic");
        }
        drawn == true
    }

    /// Where a part is on its page, and a picture of it as PNG in base64.
    fn pictured(&mut self, selector: &str) -> Value {
        let selector = json!(selector);
        let clip = self.value(&format!(
            "(async () => {{ for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame); \
             const box = document.querySelector({selector}).getBoundingClientRect(); \
             return {{ x: box.x + scrollX, y: box.y + scrollY, width: box.width, \
             height: box.height, scale: 1 }}; }})()"
        ));
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        self.call("Page.captureScreenshot", &asked)["data"].clone()
    }

    /// The picture of what a selector finds first.
    ///
    /// # Panics
    /// When there is no such part, or Chromium cannot draw it, or it looks otherwise each time.
    pub fn tiles(&mut self, selector: &str) -> Picture {
        // A frame may be taken before all of it is drawn, on a busy machine: what counts is what is
        // there twice in a row.
        let mut before = self.tiles_now(selector);
        for _ in 0..FRAMES {
            let now = self.tiles_now(selector);
            if now == before {
                return now;
            }
            before = now;
        }
        panic!("{selector} looks otherwise each time");
    }

    fn tiles_now(&mut self, selector: &str) -> Picture {
        let png = self.pictured(selector);
        // A picture from bytes is no fetch, which the page's policy may forbid.
        let tiles = self.value(&format!(
            "(async () => {{ const tiles = {TILES}, \
             bytes = Uint8Array.from(atob({png}), (letter) => letter.charCodeAt(0)), \
             image = await createImageBitmap(new Blob([bytes], {{ type: 'image/png' }})), \
             {{ width, height }} = image, \
             context = new OffscreenCanvas(width, height).getContext('2d'); \
             context.drawImage(image, 0, 0); \
             const pixels = context.getImageData(0, 0, width, height).data; \
             const sums = Array(tiles * tiles).fill(0), counts = Array(tiles * tiles).fill(0); \
             for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {{ \
             const at = Math.floor(y * tiles / height) * tiles + Math.floor(x * tiles / width); \
             const p = 4 * (y * width + x); counts[at]++; \
             sums[at] += .2126 * pixels[p] + .7152 * pixels[p + 1] + .0722 * pixels[p + 2]; }} \
             return sums.map((sum, at) => Math.round(sum / Math.max(1, counts[at]))); }})()"
        ));
        let tiles: Option<Vec<u8>> = tiles
            .as_array()
            .map(|tiles| tiles.iter().map(|tile| tile.as_u64().unwrap_or(0) as u8).collect());
        let tiles = tiles.and_then(|tiles| tiles.try_into().ok());
        Picture(tiles.expect("the tiles of a picture"))
    }

    /// What the accessibility tree lacks: a name on what takes the focus, on a picture, a table, a
    /// region or a field; one main part, banner and foot; headings that skip a level.
    ///
    /// # Panics
    /// When Chromium has no tree to give.
    pub fn findings(&mut self) -> Vec<String> {
        self.call("Accessibility.enable", &json!({}));
        let tree = self.call("Accessibility.getFullAXTree", &json!({}));
        self.call("Accessibility.disable", &json!({}));
        findings(tree["nodes"].as_array().expect("the nodes of a tree"))
    }

    /// What axe-core finds by the rules of WCAG 2.2 A and AA and its best practices. Where it is
    /// not (a package of Python's brings it), the test says so, and in CI it fails.
    ///
    /// # Panics
    /// When the file cannot be read.
    pub fn axe(&mut self) -> Vec<String> {
        let file = "axe_playwright_python/axe.min.js";
        let path = crate::python_packages().map(|folder| folder.join(file));
        let Some(path) = path.filter(|path| path.is_file()) else {
            crate::missing!("axe-core: {}", crate::GET_PYTHON_PACKAGES);
            return Vec::new();
        };
        let source = std::fs::read_to_string(path).expect("axe-core");
        self.value(&format!("(() => {{ {source} }})()"));
        let found = self.value(
            "axe.run(document, { resultTypes: ['violations'] }).then((told) => \
             told.violations.map((one) => `${one.id}: ${one.help}: \
             ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`))",
        );
        let texts = found.as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

/// Roles that have to have a name.
const NAMED: [&str; 17] = [
    "button",
    "link",
    "image",
    "img",
    "table",
    "grid",
    "region",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "radio",
    "spinbutton",
    "progressbar",
    "columnheader",
    "rowheader",
    "navigation",
];
/// Landmarks of which there is one, and no more.
const SINGLE: [&str; 3] = ["main", "banner", "contentinfo"];

fn findings(nodes: &[Value]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut counts = [0; SINGLE.len()];
    let mut regions: Vec<&str> = Vec::new();
    let mut level = 0;
    for node in nodes.iter().filter(|node| node["ignored"] != true) {
        let text = |key: &str| node[key]["value"].as_str().unwrap_or_default();
        let (role, name) = (text("role"), text("name").trim());
        let properties = node["properties"].as_array().map_or(&[][..], Vec::as_slice);
        let property = |name: &str| {
            let found = properties.iter().find(|property| property["name"] == name);
            found.map_or(&Value::Null, |property| &property["value"]["value"])
        };
        let takes_focus = property("focusable") == true && role != "RootWebArea";
        if name.is_empty() && (takes_focus || NAMED.contains(&role)) {
            // Tables take theirs from a caption, which may be empty only where one stands around.
            findings.push(format!("{role} without a name ({})", node["backendDOMNodeId"]));
        }
        if let Some(place) = SINGLE.iter().position(|known| *known == role) {
            counts[place] += 1;
        }
        if role == "region" {
            if regions.contains(&name) {
                findings.push(format!("two regions are called {name:?}"));
            }
            regions.push(name);
        }
        if role == "heading" {
            let next = property("level").as_u64().unwrap_or(0);
            if next > level + 1 {
                findings.push(format!("a heading skips a level: {name:?}"));
            }
            level = next;
        }
        if role == "RootWebArea" && name.is_empty() {
            findings.push("the page has no title".to_owned());
        }
    }
    for (role, count) in SINGLE.iter().zip(counts) {
        if count != 1 {
            findings.push(format!("{count} parts are {role}"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_kept_as_text_and_compared() {
        let mut tiles = [255; TILES * TILES];
        let white = Picture(tiles);
        assert_eq!(Picture::read(&white.text()), Some(white.clone()));
        assert_eq!(Picture::read("ff"), None);
        // A letter that is smoothed otherwise is the same, a line that is gone is not.
        tiles[..6].fill(248);
        assert!(white.distance(&Picture(tiles)).is_small());
        tiles[5] = 235;
        assert!(!white.distance(&Picture(tiles)).is_small());
        assert!(!white.distance(&Picture([252; TILES * TILES])).is_small());
    }

    #[test]
    fn what_a_tree_lacks_is_found() {
        let node = |role: &str, name: &str| {
            let [role, name] = [role, name].map(|text| json!({ "value": text }));
            json!({ "role": role, "name": name, "properties": [] })
        };
        let heading = |name: &str, level: u32| {
            let level = json!({ "name": "level", "value": { "value": level } });
            json!({
                "role": { "value": "heading" }, "name": { "value": name }, "properties": [level],
            })
        };
        let whole = [
            node("RootWebArea", "page"),
            node("banner", ""),
            node("main", ""),
            node("contentinfo", ""),
            heading("a", 1),
            heading("b", 2),
            node("button", "go"),
            node("region", "one"),
        ];
        assert_eq!(findings(&whole), Vec::<String>::new());
        let focus = json!({ "name": "focusable", "value": { "value": true } });
        let planted = [
            node("RootWebArea", ""),
            node("main", ""),
            node("main", ""),
            heading("b", 2),
            node("button", " "),
            node("region", "one"),
            node("region", "one"),
            json!({ "role": { "value": "group" }, "properties": [focus] }),
            json!({ "ignored": true, "role": { "value": "image" } }),
        ];
        let found = findings(&planted).join("\n");
        for expected in [
            "no title",
            "2 parts are main",
            "0 parts are banner",
            "skips a level: \"b\"",
            "button without",
            "two regions",
            "group without",
        ] {
            assert!(found.contains(expected), "{expected}: {found}");
        }
        assert!(!found.contains("image"), "{found}");
    }
}
