import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Thumbnails

@Suite("The desktop's thumbnail cache")
struct ThumbnailFolderTests {
    private let files: TemporaryFolder
    private let folder: ThumbnailFolder
    private static let mountpoint = "/mnt/Chats"
    private static let start = "../" + MountLink(mountpoint: mountpoint).name

    init() throws {
        files = try TemporaryFolder()
        folder = try ThumbnailFolder(path: files.path(".cache/thumbnails"), mountpoint: Self.mountpoint)
    }

    private func entry(_ path: String, _ number: UInt64) -> ThumbnailFolder.Entry {
        .init(path: Array(path.utf8), number: number)
    }

    /// The path of the thumbnail of a mount's file.
    private func path(
        _ path: String, in folder: String = "normal", at mountpoint: String = mountpoint,
        spelling: FileURI = .glib
    ) -> String {
        let uri = spelling.text(of: Array("\(mountpoint)/\(path)".utf8))
        return files.path(".cache/thumbnails/\(folder)/\(ThumbnailName(uri: uri).fileName)")
    }

    private func target(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        return count < 0
            ? nil : String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// A thumbnail of a file, as other programs write it.
    private func png(of path: String) -> [UInt8] {
        let text = Array("Thumb::URI".utf8) + [0] + Array(FileURI.glib.text(of: Array(path.utf8)).utf8)
        let count = UInt32(text.count)
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8)
            + [UInt8](repeating: 0, count: 17)
            + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
            + Array("tEXt".utf8) + text + [0, 0, 0, 0]
    }

    @discardableResult
    private func write(_ bytes: [UInt8], at path: String) throws -> String {
        let parents = path.split(separator: "/").dropLast()
        for count in 1...parents.count { mkdir("/" + parents.prefix(count).joined(separator: "/"), 0o700) }
        try OpenFile(path, flags: O_WRONLY | O_CREAT | O_TRUNC).write(bytes, at: 0)
        return path
    }

    private func sweep(since: Int64? = nil, at mountpoint: String = mountpoint, _ known: String...) throws {
        try folder.sweep([.init(mountpoint: mountpoint, since: since, isLookedForByName: true)]) { body in
            for path in known { body(Array(path.utf8)) }
        }
    }

    @Test("offer links every size in private folders")
    func offering() throws {
        try folder.offer([entry("bob/a b.jpg", 1034), entry("bob/c;.jpg", 1035)])
        for size in ThumbnailSize.allCases {
            let start = "\(Self.start)/\(size.rawValue)"
            #expect(target(path("bob/a b.jpg", in: size.folderName)) == "\(start)/1034.png")
            #expect(target(path("bob/c;.jpg", in: size.folderName)) == "\(start)/1035.png")
            #expect(
                target(path("bob/c;.jpg", in: size.folderName, spelling: .qt)) == "\(start)/1035-qt.png")
            #expect(try files.names(in: ".cache/thumbnails/\(size.folderName)").count == 3)
        }
        let mountLink = try #require(
            try files.names(in: ".cache/thumbnails").first { $0.hasPrefix(".chatfs-") })
        #expect(
            target(files.path(".cache/thumbnails/" + mountLink)) == "\(Self.mountpoint)/.chatfs/thumbnails")
        #expect(try folder.mountpoints() == [Self.mountpoint])
        for name in [".cache", ".cache/thumbnails", ".cache/thumbnails/normal"] {
            var status = stat()
            #expect(stat(files.path(name), &status) == 0 && status.st_mode & 0o777 == 0o700, "\(name)")
        }
    }

    /// From 60 bytes on, a link takes its own block on ext4.
    @Test(
        "links are short for any mountpoint",
        arguments: ["/a", "/home/" + String(repeating: "long/", count: 200)])
    func short(mountpoint: String) {
        let link = MountLink(mountpoint: mountpoint)
        for size in ThumbnailSize.allCases {
            let place = ThumbnailPlace(entry: 1_234_567_890, size: size, spelling: .qt)
            #expect(link.target(of: place).utf8.count < 60)
        }
        #expect(MountLink(name: link.name, target: link.target)?.mountpoint == mountpoint)
        #expect(MountLink(name: link.name, target: link.target + "/x") == nil)
        #expect(MountLink(name: link.name + "0", target: link.target) == nil)
    }

    @Test("offer replaces thumbnails but not foreign links")
    func replacing() throws {
        try write(png(of: "\(Self.mountpoint)/bob/a.jpg"), at: path("bob/a.jpg"))
        try write([], at: path("other"))
        try check("link") { symlink("/somewhere/else.png", path("bob/b.jpg")) }
        try folder.offer([entry("bob/a.jpg", 1), entry("bob/b.jpg", 2)])
        // Again, with another number.
        try folder.offer([entry("bob/a.jpg", 1)])
        #expect(target(path("bob/a.jpg"))?.hasSuffix("/128/1.png") == true)
        try folder.offer([entry("bob/a.jpg", 3)])
        #expect(target(path("bob/a.jpg"))?.hasSuffix("/128/3.png") == true)
        #expect(target(path("bob/b.jpg")) == "/somewhere/else.png")
        #expect(isThere(path("other")))
    }

    @Test("withdraw deletes links, thumbnails and failure marks")
    func withdrawing() throws {
        try folder.offer([entry("bob/a[1].jpg", 1), entry("bob/b.jpg", 2)])
        try write(png(of: "x"), at: path("bob/c.jpg", in: "large"))
        try write(png(of: "x"), at: path("bob/c.jpg", in: "fail/gnome-thumbnail-factory"))
        try check("link") { symlink("/somewhere/else.png", path("bob/d.jpg")) }
        try folder.withdraw(["bob/a[1].jpg", "bob/c.jpg", "bob/d.jpg"].map { Array($0.utf8) })
        #expect(
            try files.names(in: ".cache/thumbnails/large") == files.names(in: ".cache/thumbnails/x-large"))
        #expect(try files.names(in: ".cache/thumbnails/fail/gnome-thumbnail-factory").isEmpty)
        #expect(target(path("bob/b.jpg")) != nil)
        #expect(isThere(path("bob/d.jpg")))
    }

    @Test("removeFailures deletes only failure marks")
    func retrying() throws {
        try folder.removeFailures([Array("bob/a;.jpg".utf8)])
        try folder.offer([entry("bob/a;.jpg", 1)])
        let marks = ["fail/gnome-thumbnail-factory", "fail/other"]
        for mark in marks {
            try write(png(of: "x"), at: path("bob/a;.jpg", in: mark))
            try write(png(of: "x"), at: path("bob/a;.jpg", in: mark, spelling: .qt))
            try write(png(of: "x"), at: path("bob/b.jpg", in: mark))
        }
        try folder.removeFailures([Array("bob/a;.jpg".utf8)])
        for mark in marks { #expect(try files.names(in: ".cache/thumbnails/" + mark).count == 1) }
        #expect(try files.names(in: ".cache/thumbnails/normal").count == 2)
    }

    @Test("sweep deletes all links into the mount")
    func sweepingLinks() throws {
        try folder.offer([entry("bob/a.jpg", 1)])
        let stale = files.path(".cache/thumbnails/normal/stale")
        try check("link") { symlink("\(Self.start)/128/9.png", stale) }
        let others = [
            "../\(MountLink(mountpoint: "/mnt/Other").name)/128/1.png", "\(Self.mountpoint)/bob/a.jpg",
            "/elsewhere",
        ]
        for (number, other) in others.enumerated() {
            try check("link") { symlink(other, files.path(".cache/thumbnails/normal/other\(number)")) }
        }
        try sweep()
        #expect(try files.names(in: ".cache/thumbnails/normal") == ["other0", "other1", "other2"])
        #expect(try files.names(in: ".cache/thumbnails/xx-large").isEmpty)
        #expect(try folder.mountpoints().isEmpty)
    }

    @Test("sweep deletes thumbnails of known paths")
    func sweepingByName() throws {
        let ours = [
            path("bob/a.jpg"), path("bob/b;.jpg", in: "x-large", spelling: .qt),
            path("bob/c.jpg", in: "fail/gnome-thumbnail-factory"), path("bob/c.jpg", in: "fail/tumbler"),
        ]
        let others = [
            path("bob/d.jpg"), path("bob/a.jpg", at: "/mnt/Other"),
            files.path(".cache/thumbnails/normal/notes.txt"),
        ]
        for file in ours + others { try write(png(of: "/nowhere"), at: file) }
        try sweep("bob/a.jpg", "bob/b;.jpg", "bob/c.jpg")
        for file in ours { #expect(!isThere(file), "\(file)") }
        for file in others { #expect(isThere(file), "\(file)") }
    }

    @Test("sweep deletes recent thumbnails by content")
    func sweepingByContent() throws {
        let now = Int64(time(nil))
        let ours = files.path(".cache/thumbnails/normal/any.png")
        let others = [
            "\(Self.mountpoint) 2/bob/a.jpg", "/mnt/Chat/bob/a.jpg", "/home/\(Self.mountpoint)/a.jpg",
        ].enumerated().map { ($1, files.path(".cache/thumbnails/normal/other\($0).png")) }
        try write(png(of: "\(Self.mountpoint)/bob/gone.jpg"), at: ours)
        for (path, file) in others { try write(png(of: path), at: file) }
        try sweep(since: now + 60)
        #expect(isThere(ours), "older than the mount")
        try sweep(since: now - 1)
        #expect(!isThere(ours))
        for (_, file) in others { #expect(isThere(file), "\(file)") }
    }

    @Test("links and special files are not followed")
    func hostileCache() throws {
        let outside = try files.makeFolder("outside")
        let name = ThumbnailName(uri: FileURI.glib.text(of: Array("\(Self.mountpoint)/bob/a.jpg".utf8)))
            .fileName
        try write(png(of: "\(Self.mountpoint)/bob/a.jpg"), at: outside + "/" + name)
        try check("link") { symlink(outside, files.path(".cache/thumbnails/normal")) }
        mkdir(files.path(".cache/thumbnails/large"), 0o700)
        try check("link") { symlink(outside + "/" + name, files.path(".cache/thumbnails/large/" + name)) }
        try check("make a pipe") { mkfifo(files.path(".cache/thumbnails/large/pipe.png"), 0o600) }
        mkdir(files.path(".cache/thumbnails/large/folder.png"), 0o700)
        try sweep(since: 0, "bob/a.jpg")
        try folder.withdraw([Array("bob/a.jpg".utf8)])
        #expect(throws: SystemError.self) { try folder.offer([entry("bob/a.jpg", 1)]) }
        #expect(try files.names(in: "outside") == [name])
        #expect(try files.names(in: ".cache/thumbnails/large").count == 3)
    }

    @Test("the folder must be the user's, links permitted")
    func whose() throws {
        let real = try files.makeFolder("real")
        try check("link") { symlink(real, files.path("link")) }
        let linked = try ThumbnailFolder(path: files.path("link"), mountpoint: Self.mountpoint)
        try linked.offer([entry("a", 1)])
        #expect(try files.names(in: "real").contains("normal"))
        #expect(throws: SystemError.self) {
            try ThumbnailFolder(path: files.write([], to: "file"), mountpoint: Self.mountpoint)
        }
        if geteuid() == 0 {
            chown(real, 12_345, 12_345)
            #expect(throws: SystemError.self) {
                try ThumbnailFolder(path: real, mountpoint: Self.mountpoint)
            }
        }
    }

    @Test("invalid thumbnails are left alone")
    func damagedHeads() {
        let whole = png(of: "/mnt/Chats/bob/a.jpg")
        #expect(
            ThumbnailHead.uri(whole).map { String(decoding: $0, as: UTF8.self) }
                == "file:///mnt/Chats/bob/a.jpg")
        for count in 0..<whole.count { #expect(ThumbnailHead.uri(Array(whole.prefix(count))) == nil) }
        var generator = SeededGenerator(state: 4)
        for _ in 0..<5_000 {
            var bytes = whole
            for _ in 0..<3 {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: 0...255, using: &generator)
            }
            _ = ThumbnailHead.uri(bytes)
        }
    }
}
