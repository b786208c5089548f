import Base
import Testing

/// Names that Swift's characters hide a slash in: an accent joins what stands before it (U+0301), a sign of a number
/// what stands behind it (U+0600).
@Suite("Paths are taken apart as the kernel does it, by bytes")
struct PathTests {
    private static let accent = "\u{301}a"
    private static let sign = "a\u{600}"

    @Test(
        "the names of a path are what stands between its slashes",
        arguments: [
            ("", []), ("/", []), ("///", []), ("a", ["a"]), ("/a", ["a"]), ("a/", ["a"]),
            ("//a//b//", ["a", "b"]),
            ("./a/../b", [".", "a", "..", "b"]), ("/\(accent)/\(accent)", [accent, accent]),
            ("/\(sign)/..", [sign, ".."]), ("a\r\n/\r\nb", ["a\r\n", "\r\nb"]),
            ("/é/e\u{301}", ["é", "e\u{301}"]),
        ] as [(String, [String])])
    func names(path: String, names: [String]) {
        #expect(path.pathNames.map { Array($0.utf8) } == names.map { Array($0.utf8) })
        #expect(path.lastPathName.map { Array($0.utf8) } == names.last.map { Array($0.utf8) })
    }

    @Test(
        "the folder of a path is what stands before its last slash",
        arguments: [
            ("a", "."), ("", "."), ("/a", "/"), ("/", "/"), ("/a/b", "/a"), ("a/b", "a"), ("/a/", "/a"),
            ("/\(accent)/\(accent)", "/\(accent)"), ("\(sign)/\(accent)", sign), ("/\(accent)", "/"),
        ])
    func parents(path: String, parent: String) { #expect(path.parentPath.hasSameBytes(as: parent)) }

    @Test("a path is absolute whatever follows the first slash")
    func absolute() {
        for path in ["/", "/a", "/\(Self.accent)", "//"] { #expect(path.isAbsolutePath) }
        for path in ["", "a/", "./a", "\(Self.accent)/"] { #expect(!path.isAbsolutePath) }
    }

    @Test(
        "what lies in a folder is told from what only begins alike",
        arguments: [
            ("/mnt", "/mnt", ""), ("/mnt/", "/mnt", ""), ("/mnt", "/mnt/", ""), ("/mnt/a", "/mnt", "a"),
            ("/mnt//a/b", "/mnt", "a/b"), ("/mnt/a", "/mnt//", "a"), ("/mnt2/a", "/mnt", nil),
            ("/mn", "/mnt", nil),
            ("/", "/", ""), ("/a", "/", "a"), ("/a/b", "/", "a/b"), ("a/b", "a", "b"), ("a", "/", nil),
            ("/mnt/\(accent)", "/mnt", accent), ("/\(accent)/\(accent)/b", "/\(accent)", "\(accent)/b"),
            ("/\(sign)/a", "/\(sign)", "a"), ("/é/a", "/e\u{301}", nil), ("/e\u{301}/a", "/é", nil),
            ("", "/mnt", nil),
        ])
    func below(path: String, folder: String, rest: String?) {
        #expect(path.path(below: folder).map { Array($0.utf8) } == rest.map { Array($0.utf8) })
    }

    @Test("the same letter in another spelling is another name")
    func spellings() {
        #expect("é" == "e\u{301}")
        #expect(!"é".hasSameBytes(as: "e\u{301}"))
        #expect("é".hasSameBytes(as: "é") && "".hasSameBytes(as: ""))
        #expect(!"a".hasSameBytes(as: "ab") && !"ab".hasSameBytes(as: "a"))
    }

    @Test("an ending is found behind anything")
    func endings() {
        for name in ["a.db", ".db", "\(Self.sign).db", "\(Self.accent).db"] {
            #expect(name.endsWithBytes(of: ".db"))
        }
        for name in ["", "db", "a.dB", "a.db "] { #expect(!name.endsWithBytes(of: ".db")) }
        #expect("".endsWithBytes(of: "") && "a".endsWithBytes(of: ""))
    }

    @Test("for any text the names joined again are the path without its superfluous slashes")
    func model() {
        var generator = SystemRandomNumberGenerator()
        let pieces = ["/", "/", "a", "\u{301}", "\u{600}", "é", ".", "..", "\r\n", "\u{200D}", "👩", " "]
        for _ in 0..<2000 {
            let path = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }.joined()
            let expected = Array(path.utf8).split(separator: UInt8(ascii: "/")).map(Array.init)
            #expect(path.pathNames.map { Array($0.utf8) } == expected)
            #expect(path.lastPathName.map { Array($0.utf8) } == expected.last)
            let root = "/" + path
            #expect(
                root.path(below: "/")?.hasSameBytes(
                    as: String(decoding: path.utf8.drop { $0 == 0x2F }, as: UTF8.self)) == true)
            if let last = root.lastPathName, !root.endsWithBytes(of: "/") {
                #expect(root.path(below: root.parentPath)?.hasSameBytes(as: last) == true)
            }
        }
    }
}
