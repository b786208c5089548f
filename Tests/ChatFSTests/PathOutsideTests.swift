import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import chatfs

/// A daemon that accessed its own mount would deadlock.
@Suite("Paths outside the mount")
struct PathOutsideTests {
    private let folder: TemporaryFolder
    private let mountpoint: String

    init() throws {
        folder = try TemporaryFolder()
        mountpoint = try folder.makeFolder("Chats")
        _ = try folder.makeFolder("other")
        try folder.write([1], to: "other/file")
    }

    private func resolved(_ path: String) -> String? {
        PathOutside.resolved(path.hasPrefix("/") ? path : folder.path(path), outside: mountpoint)
    }

    private func link(_ target: String, _ name: String) { symlink(target, folder.path(name)) }

    @Test("outer paths are resolved")
    func elsewhere() {
        let file = folder.path("other/file")
        for path in [
            "other/file", "other//file", "other/./file", "./other/file", "other/../other/file",
            "Chatsandmore/../other/file",
        ] {
            if path.hasPrefix("Chatsandmore") { _ = try? folder.makeFolder("Chatsandmore") }
            #expect(resolved(path) == file, "\(path)")
        }
        link("other", "link")
        link(file, "absolute")
        link("./link/../other", "winding")
        for path in ["link/file", "absolute", "winding/file"] { #expect(resolved(path) == file, "\(path)") }
        #expect(resolved("/") == "/" && resolved("/..") == "/" && resolved("/../..//.") == "/")
        #expect(resolved("other/new") == folder.path("other/new"))
        #expect(resolved("other/new/more") == folder.path("other/new/more"))
    }

    @Test("every way into the mount is refused")
    func inside() {
        link("Chats", "link")
        link(mountpoint, "absolute")
        link("link/x", "behind")
        link("../" + folder.path.split(separator: "/").last! + "/Chats", "around")
        for path in [
            "Chats", "Chats/", "Chats/a", "Chats/../other/file", "other/../Chats/a", "link", "link/a",
            "link/../other/file", "absolute/a", "behind", "around/a", "./Chats",
        ] {
            #expect(resolved(path) == nil, "\(path)")
        }
        // A name with the same prefix is different.
        _ = try? folder.makeFolder("Chats2")
        #expect(resolved("Chats2/a") == folder.path("Chats2/a"))
    }

    @Test("missing components allow no parent references")
    func missing() {
        #expect(resolved("none/../Chats/a") == nil)
        #expect(resolved("none/a/../../Chats") == nil)
        #expect(resolved("none/../other/file") == nil)
        link("none/../Chats", "dangling")
        #expect(resolved("dangling/a") == nil)
    }

    @Test("accented names hide no slash")
    func accents() throws {
        let accent = "\u{301}x"
        _ = try folder.makeFolder(accent)
        try folder.write([1], to: "\(accent)/file")
        #expect(resolved("\(accent)/file") == folder.path("\(accent)/file"))
        #expect(resolved("\(accent)/../Chats/a") == nil)
        #expect(resolved("Chats/\(accent)") == nil)
        #expect(resolved("Chats/\(accent)/../../other/file") == nil)
        link("/\(accent)", "absolute accent")
        #expect(resolved("absolute accent") == "/\(accent)")
        // Another name, unknown here.
        _ = try folder.makeFolder("\u{E9}")
        let spelled = PathOutside.resolved(folder.path("e\u{301}/a"), outside: folder.path("\u{E9}"))
        #expect(spelled == folder.path("e\u{301}/a"))
    }

    @Test("circular links end")
    func round() {
        link("b", "a")
        link("a", "b")
        #expect(resolved("a") == nil)
        link("self/x", "self")
        #expect(resolved("self") == nil)
        // Forty links, the kernel's limit, and one more.
        link("other", "l40")
        for number in (1..<40).reversed() { link("l\(number + 1)", "l\(number)") }
        #expect(resolved("l1/file") == folder.path("other/file"))
        link("l1", "l0")
        #expect(resolved("l0/file") == nil)
    }
}
