//! Pages in a headless Chromium: opened, clicked through, looked over and pictured.
//!
//! ```text
//!   Browser ── stdin: JSON, NUL ──> sh: 3<&0 4>&1 ── fd 3 ──> Chromium --remote-debugging-pipe
//!           <── stdout: JSON, NUL ──────────────── fd 4 ──
//! ```

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

/// One page in a browser of its own, which ends with it.
pub struct Browser {
    process: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Option<String>,
    number: u64,
    /// What the page complained of: uncaught errors, refused loads.
    complaints: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts one, with an empty page.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(chromium: &Path) -> Browser {
        let profile = tempfile::tempdir().expect("a folder for the profile");
        let script = "exec \"$0\" --headless --no-sandbox --disable-gpu --disable-quic \
            --no-first-run --hide-scrollbars --disable-background-networking \
            --disable-component-update --disable-sync --disable-dev-shm-usage \
            --remote-debugging-pipe --user-data-dir=\"$1\" 3<&0 4>&1 0</dev/null 1>/dev/null";
        let mut process = Command::new("sh")
            .args(["-c", script])
            .args([chromium, profile.path()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let to = process.stdin.take().expect("its input");
        let from = BufReader::new(process.stdout.take().expect("its output"));
        let mut browser = Browser {
            process,
            to,
            from,
            session: None,
            number: 0,
            complaints: Vec::new(),
            _profile: profile,
        };
        browser.session = Some(browser.page());
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser
    }

    /// An empty page more; its session.
    fn page(&mut self) -> String {
        let target = self.call("Target.createTarget", &json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = self.call("Target.attachToTarget", &attach)["sessionId"].clone();
        session.as_str().expect("a session").to_owned()
    }

    /// Says something and waits for the answer; events on the way are looked at.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("Chromium listens");
        loop {
            let heard = self.hear();
            if heard["id"] == json!(self.number) {
                assert!(heard["error"].is_null(), "{method}: {}", heard["error"]);
                return heard["result"].clone();
            }
        }
    }

    fn hear(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).expect("Chromium speaks");
        assert!(!bytes.is_empty(), "Chromium has ended");
        bytes.pop();
        let heard: Value = serde_json::from_slice(&bytes).expect("JSON");
        let complaint = match heard["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                heard["params"]["exceptionDetails"]["exception"]["description"].as_str()
            }
            // That the server said no is the page's affair.
            Some("Log.entryAdded")
                if heard["params"]["entry"]["level"] == "error"
                    && heard["params"]["entry"]["source"] != "network" =>
            {
                heard["params"]["entry"]["text"].as_str()
            }
            _ => None,
        };
        self.complaints.extend(complaint.map(str::to_owned));
        heard
    }

    /// Opens an address and waits until it is loaded.
    pub fn open(&mut self, address: &str) {
        self.call("Page.navigate", &json!({ "url": address }));
        while self.hear()["method"] != "Page.loadEventFired" {}
    }

    /// A script that is run in every page opened from now on, before its own.
    pub fn before_the_page(&mut self, script: &str) {
        let script = json!({ "source": script });
        self.call("Page.addScriptToEvaluateOnNewDocument", &script);
    }

    /// What an expression of JavaScript comes to in the page; promises are waited for.
    ///
    /// # Panics
    /// When it throws.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let told = self.call("Runtime.evaluate", &asked);
        let thrown = &told["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {}", thrown["exception"]["description"]);
        told["result"]["value"].clone()
    }

    /// Waits until an expression is true in the page, and gives what it comes to.
    ///
    /// # Panics
    /// When it is not within a minute, with what the page shows.
    pub fn until(&mut self, expression: &str) -> Value {
        let said = json!(expression);
        self.value(&format!(
            "new Promise((yes, no) => {{ const end = Date.now() + 60000; (function look() {{ \
             let value; try {{ value = ({expression}); }} catch {{}} \
             if (value) yes(value); else if (Date.now() > end) \
             no(new Error('never: ' + {said} + ' in ' + document.body.innerText.slice(0, 4000))); \
             else setTimeout(look, 50); }})(); }})"
        ))
    }

    /// Clicks with the mouse on the middle of what a selector finds first and is to be seen.
    pub fn click(&mut self, selector: &str) {
        let selector = json!(selector);
        let at = self.until(&format!(
            "(() => {{ const part = [...document.querySelectorAll({selector})].find((part) => \
             part.checkVisibility() && !part.disabled); \
             part?.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = part?.getBoundingClientRect(); \
             return box && [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({
                "type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1,
            });
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Types a text into what a selector finds, in place of what is there.
    pub fn fill(&mut self, selector: &str, text: &str) {
        let (selector, text) = (json!(selector), json!(text));
        self.value(&format!(
            "(() => {{ const part = document.querySelector({selector}); part.focus(); \
             part.value = {text}; for (const name of ['input', 'change']) \
             part.dispatchEvent(new Event(name, {{ bubbles: true }})); }})()"
        ));
    }

    /// Presses a key, by its name in the DOM, such as `Enter` or `" "`.
    ///
    /// # Panics
    /// When Chromium refuses.
    pub fn key(&mut self, name: &str) {
        let text = match name {
            "Enter" => "\r",
            " " => " ",
            _ => "",
        };
        let code = match name {
            "Enter" => 13,
            "Tab" => 9,
            " " => 32,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({
                "type": kind, "key": name, "code": name, "text": text,
                "windowsVirtualKeyCode": code,
            });
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Gives the page a width in CSS pixels, and says whether its reader prefers dark.
    pub fn resize(&mut self, width: u32, dark: bool) {
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            // Nothing is half way when a picture is taken.
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// A picture of the whole page, as PNG.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn picture(&mut self, path: &Path) {
        let asked = json!({ "format": "png", "captureBeyondViewport": true });
        let told = self.call("Page.captureScreenshot", &asked);
        let bytes = BASE64_STANDARD
            .decode(told["data"].as_str().unwrap_or_default())
            .expect("the browser writes base64");
        std::fs::write(path, bytes).expect("a picture");
    }

    /// What the page complained of since the last time.
    pub fn complaints(&mut self) -> Vec<String> {
        // An answer comes after all that was said before it.
        self.value("0");
        std::mem::take(&mut self.complaints)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let close = json!({ "id": 0, "method": "Browser.close" });
        let _ = self.to.write_all(format!("{close}\0").as_bytes());
        // Its output ends with it; then nothing uses the profile any more.
        let mut rest = Vec::new();
        while self.from.read_until(0, &mut rest).is_ok_and(|count| count > 0) {}
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
