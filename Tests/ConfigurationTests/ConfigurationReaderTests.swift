import CommandLineKit
import Testing

@testable import Configuration

@Suite struct ConfigurationReaderTests {
    private static let reader = ConfigurationReader(
        mountOptions: [
            Option("cache-dir", named: "DIR", .folder, "A folder."),
            Option("cache-size", named: "LIMIT", .byteCount, "A size."),
            Option("folders", named: "WHAT", .choice(["refuse", "archive"]), "A choice."),
            Option.list("relay", named: "ADDR", .text, "A list."),
            Option.flag("no-finish", "A flag."),
        ],
        chatOptions: [
            Option("what", named: "KINDS", .choice(["never", "all"]), "A choice."),
            Option("metered", named: "YES|NO", .choice(["yes", "no"]), "A choice."),
        ], home: "/home/ada")

    private func read(_ text: String) throws -> Configuration { try Self.reader.read(Array(text.utf8)) }

    private func message(of text: String) -> String? {
        do {
            _ = try read(text)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test func emptyFileHasNoMounts() throws {
        #expect(try read("").mounts.isEmpty)
        #expect(try read("# nothing\n").common.isEmpty)
    }

    @Test func mountReplacesOptionsOfEveryMount() throws {
        let configuration = try read(
            """
            [mount]
            folders = "refuse"
            no-finish = true
            [mounts.home]
            mountpoint = "~/Chats/"
            folders = "archive"
            cache-size = 4096
            cache-dir = "~/cache"
            relay = ["one", "two"]
            no-finish = false
            [mounts.'my work']
            mountpoint = "/mnt/work"
            """)
        #expect(configuration.mounts.map(\.name) == ["home", "my work"])
        let home = try #require(configuration.mount(named: "home"))
        #expect(home.mountpoint == "/home/ada/Chats")
        #expect(
            configuration.options(of: home) == [
                "folders": ["archive"], "cache-size": ["4096"], "cache-dir": ["/home/ada/cache"],
                "relay": ["one", "two"],
            ])
        #expect(configuration.options(of: nil) == ["folders": ["refuse"], "no-finish": [""]])
        #expect(configuration.mount(at: "/mnt/work")?.name == "my work")
    }

    @Test func chatsHaveRules() throws {
        let configuration = try read(
            """
            [mounts.home]
            mountpoint = "/c"
            [mounts.home.chats."Book club"]
            mute = true
            keep = "all"
            metered = false
            """)
        #expect(
            configuration.mounts[0].chats == [
                Configuration.Chat(name: "Book club", isMuted: true, keep: ["what": "all", "metered": "no"])
            ])
    }

    @Test(arguments: [
        ("[mount]\nfoldrs = 'archive'", "Line 2: unknown key mount.foldrs; did you mean 'folders'?"),
        ("[mounts.a]\nmountpoint = 'Chats'", "Line 2: mounts.a.mountpoint begins with / or ~/"),
        ("[mounts.a]\n", "Line 1: [mounts.a] needs mountpoint = \"FOLDER\""),
        ("[mount]\nfolders = ['archive']", "Line 2: mount.folders is one value, not a list"),
        ("[mount]\nfolders = 'zip'", "Line 2: mount.folders 'zip': expected refuse or archive"),
        ("[mount]\nno-finish = 'yes'", "Line 2: mount.no-finish is true or false"),
        ("[mount]\ncache-size = 1.5", "Line 2: mount.cache-size is a text: \"…\""),
        ("mount = 1", "Line 1: mount is a table: [mount]"),
        ("[mounts.'a/b']\nmountpoint = '/a'", "Line 1: 'a/b' cannot name a mount"),
        (
            "[mounts.a]\nmountpoint='/a'\n[mounts.b]\nmountpoint='/a/'",
            "Line 3: [mounts.b] has the folder of [mounts.a]"
        ),
        (
            "[mounts.a]\nmountpoint='/a'\n[mounts.a.chats.Bob]\nmuted = true",
            "Line 4: unknown key mounts.a.chats.Bob.muted; did you mean 'mute'?"
        ),
    ])
    func mistakeIsReportedWithItsLine(text: String, expected: String) {
        #expect(message(of: text) == expected)
    }

    @Test(arguments: ["[mount", "a = ", "[mount]\n[mount]\n", "x = \"\u{0}\"", "= 1", "a = [1"])
    func invalidTOMLIsAnError(text: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try read(text) }
        #expect(error.code == .syntax)
        #expect(error.sentence.hasPrefix("Line "))
    }

    @Test func bytesThatAreNoUTF8AreAnError() throws {
        let error = try #require(throws: ConfigurationError.self) {
            try Self.reader.read([0x61, 0x3d, 0xff])
        }
        #expect(error.code == .syntax)
    }

    @Test func deepNestingIsAnError() throws {
        let text = "a = " + String(repeating: "[", count: 100_000)
        let error = try #require(throws: ConfigurationError.self) { try read(text) }
        #expect(error.code == .syntax)
    }

    @Test(arguments: ["plain", "two words", "quote\"", "back\\slash", "line\nbreak", "", "\u{7f}ä"])
    func writtenTextIsReadBack(text: String) throws {
        let entries = try TOMLValue.parse(Array("\(TOMLText.key(text)) = \(TOMLText.string(text))".utf8))
        #expect(entries.map(\.key) == [text])
        guard case .string(text) = entries[0].value.content else {
            Issue.record("\(entries[0].value.content)")
            return
        }
    }
}
