import Base
import Testing

/// Names that merge with a slash as Swift characters: an accent joins the preceding one (U+0301), a number sign the
/// following one (U+0600).
@Suite("Paths are split by bytes, as in the kernel")
struct PathTests {
    private static let accent = "\u{301}a"
    private static let sign = "a\u{600}"

    @Test(
        "slashes separate names",
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
        "the last slash ends the folder",
        arguments: [
            ("a", "."), ("", "."), ("/a", "/"), ("/", "/"), ("/a/b", "/a"), ("a/b", "a"), ("/a/", "/a"),
            ("/\(accent)/\(accent)", "/\(accent)"), ("\(sign)/\(accent)", sign), ("/\(accent)", "/"),
        ])
    func parents(path: String, parent: String) { #expect(path.parentPath.hasSameBytes(as: parent)) }

    @Test("a leading slash makes a path absolute")
    func absolute() {
        for path in ["/", "/a", "/\(Self.accent)", "//"] { #expect(path.isAbsolutePath) }
        for path in ["", "a/", "./a", "\(Self.accent)/"] { #expect(!path.isAbsolutePath) }
    }

    @Test(
        "a common beginning is no common folder",
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

    @Test("other spellings of a letter are other names")
    func spellings() {
        #expect("é" == "e\u{301}")
        #expect(!"é".hasSameBytes(as: "e\u{301}"))
        #expect("é".hasSameBytes(as: "é") && "".hasSameBytes(as: ""))
        #expect(!"a".hasSameBytes(as: "ab") && !"ab".hasSameBytes(as: "a"))
    }

    @Test("suffixes are compared by bytes")
    func endings() {
        for name in ["a.db", ".db", "\(Self.sign).db", "\(Self.accent).db"] {
            #expect(name.endsWithBytes(of: ".db"))
        }
        for name in ["", "db", "a.dB", "a.db "] { #expect(!name.endsWithBytes(of: ".db")) }
        #expect("".endsWithBytes(of: "") && "a".endsWithBytes(of: ""))
    }

    @Test("joined names form the normalised path")
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
