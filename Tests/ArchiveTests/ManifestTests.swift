import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Archive

@Suite("Manifests")
struct ManifestTests {
    private static let digest = String(repeating: "ab", count: 32)

    private static func entry(_ name: String, _ size: String = "1", digest: String = digest) -> String {
        #"{"name":"\#(name)","size":\#(size),"sha256":"\#(digest)"}"#
    }

    private static func text(
        _ entries: [String], format: String = "chatfs archive", version: String = "2", created: String = "5",
        program: String = "x"
    ) -> [UInt8] {
        Array(
            #"{"format":"\#(format)","version":\#(version),"created":\#(created),"program":"\#(program)","entries":[\#(entries.joined(separator: ","))]}"#
                .utf8)
    }

    private static func refusal(_ bytes: [UInt8]) -> ArchiveError? {
        do throws(ArchiveError) {
            _ = try Manifest(bytes)
            return nil
        } catch {
            return error
        }
    }

    @Test("manifests round-trip")
    func roundTrip() throws {
        let entries = try ["chatfs.db", "profiles/1/files/a", "keys"].map { name in
            Manifest.Entry(
                name: try #require(EntryName(name)), size: UInt64(name.utf8.count),
                digest: SHA256.hash(Array(name.utf8)))
        }
        let manifest = Manifest(created: -7, program: "ChatFS ü\"", entries: entries)
        #expect(try Manifest(manifest.encoded) == manifest && manifest.encoded == manifest.encoded)
        #expect(manifest.total == 31)
        let empty = Manifest(created: 0, program: "", entries: [])
        #expect(try Manifest(empty.encoded) == empty && empty.total == 0)
    }

    @Test("sizes and their sum are limited")
    func sizes() throws {
        let most = "4611686018427387904"
        #expect(try Manifest(Self.text([Self.entry("a", most), Self.entry("b", "0")])).total == 1 << 62)
        #expect(
            Self.refusal(Self.text([Self.entry("a", most), Self.entry("b", "1")]))?.sentence
                == "This is no archive of ChatFS, or it was changed: its files are larger than any disk.")
        let alone =
            "This is no archive of ChatFS, or it was changed: a size or digest in its manifest is invalid."
        #expect(Self.refusal(Self.text([Self.entry("a", "4611686018427387905")]))?.sentence == alone)
        for size in ["-1", "1.5", "18446744073709551616", "\"1\"", "null"] {
            #expect(Self.refusal(Self.text([Self.entry("a", size)]))?.code == .malformed, "\(size)")
        }
        for digest in [
            String(Self.digest.dropLast(2)), Self.digest + "ab", "", String(repeating: "xy", count: 32),
        ] {
            #expect(Self.refusal(Self.text([Self.entry("a", digest: digest)]))?.sentence == alone)
        }
    }

    @Test("names are unique and no folders")
    func names() throws {
        let twice =
            "This is no archive of ChatFS, or it was changed: a name in its manifest is invalid or duplicate."
        for names in [["a", "a"], ["manifest.json"], ["manifest.tag"], [""], ["a/../b"], ["/a"], ["a b"]] {
            #expect(Self.refusal(Self.text(names.map { Self.entry($0) }))?.sentence == twice, "\(names)")
        }
        let folder =
            "This is no archive of ChatFS, or it was changed: a file in its manifest is also a folder."
        for names in [["a", "a/b"], ["a/b/c/d", "a"], ["x/y/z", "x/y"]] {
            #expect(Self.refusal(Self.text(names.map { Self.entry($0) }))?.sentence == folder, "\(names)")
        }
        for names in [["a", "ab/c"], ["a/b", "a/c"], ["A", "a"], ["x/manifest.json"]] {
            #expect(Self.refusal(Self.text(names.map { Self.entry($0) })) == nil, "\(names)")
        }
    }

    @Test("other versions are rejected with their reason")
    func versions() {
        #expect(Self.refusal(Self.text([])) == nil)
        let newer = Self.refusal(Self.text([], version: "3"))
        #expect(newer?.code == .newerVersion)
        #expect(newer?.sentence == "The archive was written by a newer version of ChatFS; update ChatFS.")
        let first = Self.refusal(Self.text([], version: "1"))
        #expect(
            first?.code == .malformed && first?.sentence.contains("write another with this version") == true)
        for version in ["0", "-1"] {
            #expect(Self.refusal(Self.text([], version: version))?.code == .malformed)
        }
        let unreadable =
            "This is no archive of ChatFS, or it was changed: its manifest cannot be read."
        for bytes in [
            Self.text([], format: "other"), Self.text([], version: "\"2\""), Self.text([], created: "null"),
            [],
            Array("{}".utf8), Array("null".utf8), [0xff, 0xfe],
        ] { #expect(Self.refusal(bytes)?.sentence == unreadable) }
    }

    @Test("the program's name has at most 200 bytes")
    func program() {
        #expect(Self.refusal(Self.text([], program: String(repeating: "x", count: 200))) == nil)
        #expect(Self.refusal(Self.text([], program: String(repeating: "x", count: 201)))?.code == .malformed)
        #expect(Self.refusal(Self.text([], program: String(repeating: "ü", count: 101)))?.code == .malformed)
    }

    @Test("changed bytes change or invalidate the manifest")
    func mutation() throws {
        let whole = Manifest(
            created: 9, program: "tests",
            entries: [
                .init(name: try #require(EntryName("keys")), size: 3, digest: SHA256.hash([1])),
                .init(name: try #require(EntryName("a/b")), size: 4, digest: SHA256.hash([2])),
            ]
        ).encoded
        for count in whole.indices { #expect(Self.refusal(Array(whole.prefix(count))) != nil) }
        var random = SeededGenerator(state: 3)
        for place in whole.indices {
            var changed = whole
            changed[place] ^= UInt8.random(in: 1...255, using: &random)
            guard let read = try? Manifest(changed) else { continue }
            #expect(try Manifest(read.encoded) == read)
        }
    }

    @Test(
        "name lengths are limited",
        arguments: [(16, 200, true), (17, 2, false), (1, 201, false), (1, 200, true)])
    func lengths(parts: Int, length: Int, isOne: Bool) {
        let part = String(repeating: "a", count: min(length, 512 / parts - 1))
        let wanted = parts == 1 ? String(repeating: "a", count: length) : part
        let text = Array(repeating: wanted, count: parts).joined(separator: "/")
        #expect((EntryName(text) != nil) == isOne)
    }

    @Test("a name has at most 512 bytes")
    func whole() {
        let parts = Array(repeating: String(repeating: "a", count: 170), count: 3).joined(separator: "/")
        #expect(parts.utf8.count == 512 && EntryName(parts) != nil && EntryName(parts + "a") == nil)
    }

    @Test("a full disk differs from other file errors")
    func errors() {
        for code in [ENOSPC, EDQUOT, EFBIG] {
            #expect(ArchiveError(SystemError(code: code, operation: "write")).code == .noSpace)
        }
        for code in [EIO, EACCES, ENOENT] {
            let error = ArchiveError(SystemError(code: code, operation: "write"))
            #expect(error.code == .file && (error.cause as? SystemError)?.code == code)
        }
    }
}
