import EmbeddedCore
import Glibc
import Posix
import TestSupport
import Testing

@Suite("The desktop's thumbnail cache and a mount", .serialized)
struct DesktopThumbnailTests {
    /// Pictures and a text from alice that bob has not received yet.
    private final class Gallery {
        let stage: CopyStage
        let cache: String
        var thumbnails: String { cache + "/thumbnails" }
        static let pictures = ["1 of 2.png", "2;[%].png"]

        init() async throws {
            stage = try await CopyStage.start(encrypted: false)
            cache = try stage.folder.makeFolder("desktop cache")
            let drawn = try await stage.copy(
                """
                cd "$SOURCE"; echo hello > note.txt
                for n in '1 of 2' '2;[%]'; do
                    ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=800x600,noise=alls=60 -frames:v 1 "$n.png"
                done
                """)
            guard drawn.succeeded else { throw WaitedInVain("ffmpeg: \(drawn.errors)") }
            for name in Self.pictures + ["note.txt"] {
                try await stage.chatfs(["send", "\(stage.source)/\(name)", "bob", "--profile", "alice"])
            }
        }

        func mount(_ options: [String] = [], cache: String? = nil) async throws -> RunningProcess {
            let mounted = try await stage.mount(
                "bob", options: options, environment: ["XDG_CACHE_HOME": cache ?? self.cache])
            try await stage.waitForArrival(of: Self.pictures)
            return mounted
        }

        /// Paths of all links and files in the thumbnail cache.
        func entries() async throws -> [String] {
            let found = try await Shell.run("find", [thumbnails, "!", "-type", "d"])
            return found.output.split(separator: "\n").map(String.init).sorted()
        }

        /// GLib's result for the thumbnail of a file.
        func glib(_ name: String) async throws -> String {
            let outcome = try await Shell.run(
                "gio", ["info", "-a", "thumbnail::*", stage.fromAlice + "/" + name],
                environment: ["XDG_CACHE_HOME": cache])
            return outcome.output
        }

        func states() throws -> Set<String?> {
            Set(
                try Self.pictures.map { name in
                    try ExtendedAttribute.text("user.chatfs.state", of: stage.fromAlice + "/" + name)
                })
        }

        /// Writes a thumbnail of a file of the mount, as a thumbnailer would.
        func thumbnail(of path: String, as name: String) async throws {
            let program = """
                import hashlib, os, struct, sys, urllib.parse, zlib
                uri = "file://" + urllib.parse.quote(sys.argv[1])
                def chunk(kind, data):
                    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
                folder = sys.argv[2]
                os.makedirs(folder, 0o700, exist_ok=True)
                with open(folder + "/" + hashlib.md5(uri.encode()).hexdigest() + ".png", "wb") as file:
                    file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
                        + chunk(b"tEXt", b"Thumb::URI\\0" + uri.encode())
                        + chunk(b"IDAT", zlib.compress(b"\\0\\0\\0\\0")) + chunk(b"IEND", b""))
                """
            let outcome = try await Shell.run("python3", ["-c", program, path, thumbnails + "/" + name])
            guard outcome.succeeded else { throw WaitedInVain("python3: \(outcome.errors)") }
        }
    }

    @Test("GLib accepts links; unmount removes them")
    func life() async throws {
        let gallery = try await Gallery()
        let bob = try await gallery.mount()
        // Four sizes, two spellings of the second name, and one link through which all lead.
        #expect(try await gallery.entries().count == 13)
        for name in Gallery.pictures {
            let found = try await gallery.glib(name)
            #expect(found.contains("thumbnail::is-valid: TRUE"), "\(found)")
        }
        #expect(try await !gallery.glib("note.txt").contains("thumbnail::"))
        let shown = try await Shell.script(
            "cd '\(gallery.thumbnails)' && file -bL normal/*.png large/*.png | sort | uniq -c")
        #expect(shown.output.contains("3 PNG image data, 128 x 96"), "\(shown.output)")
        #expect(shown.output.contains("3 PNG image data, 256 x 192"), "\(shown.output)")
        #expect(try gallery.states() == ["remote"])

        try await gallery.thumbnail(of: gallery.stage.fromAlice + "/note.txt", as: "normal")
        try await gallery.thumbnail(of: gallery.stage.fromAlice + "/gone.txt", as: "large")
        try await gallery.thumbnail(
            of: gallery.stage.fromAlice + "/note.txt", as: "fail/gnome-thumbnail-factory")
        try await gallery.thumbnail(of: "/elsewhere/note.txt", as: "normal")
        let elsewhere = try await gallery.entries().filter { !$0.contains("fail") }.count
        #expect(elsewhere == 16)
        #expect(try await bob.terminate() == .code(0))
        let left = try await gallery.entries()
        #expect(left.count == 1 && left[0].contains("/normal/"), "\(left)")
        #expect(bob.errors == "")
    }

    @Test("arrival of a file removes thumbnailers' failure marks")
    func fetched() async throws {
        let gallery = try await Gallery()
        let bob = try await gallery.mount()
        let name = Gallery.pictures[0]
        try await gallery.thumbnail(
            of: gallery.stage.fromAlice + "/" + name, as: "fail/gnome-thumbnail-factory")
        let read = try await Shell.run(
            "cmp", [gallery.stage.source + "/" + name, gallery.stage.fromAlice + "/" + name])
        #expect(read.succeeded, "\(read.output)")
        try await wait(until: "the mark is gone") { try await gallery.entries().count == 13 }
        #expect(try await gallery.glib(name).contains("thumbnail::is-valid: TRUE"))
        #expect(try await bob.terminate() == .code(0))
    }

    @Test("the mount after kill -9 removes all traces")
    func killed() async throws {
        let gallery = try await Gallery()
        let bob = try await gallery.mount()
        try await gallery.thumbnail(of: gallery.stage.fromAlice + "/note.txt", as: "normal")
        try await gallery.thumbnail(of: gallery.stage.fromAlice + "/gone.txt", as: "normal")
        bob.send(SIGKILL)
        _ = try await bob.ending(within: .seconds(20))
        #expect(try await gallery.entries().count == 15)
        let other = try await ChatFSProcess.start(
            [
                "mount", gallery.stage.folder.path("other"), "--profile", "bob", "--cache-dir",
                gallery.stage.folder.path("cache"), "--data", gallery.stage.folder.path("data"),
            ], environment: ["XDG_CACHE_HOME": gallery.cache])
        try await other.line("that it is mounted", within: .seconds(60)) { $0.contains("is mounted at") }
        try await wait(until: "everything is swept") { try await gallery.entries().isEmpty }
        #expect(try await other.terminate() == .code(0))
    }

    @Test("no links without message previews", arguments: ["fetch", "none"])
    func modes(mode: String) async throws {
        let gallery = try await Gallery()
        let bob = try await gallery.mount(["--previews", mode])
        #expect(try await gallery.entries().isEmpty)
        #expect(access(gallery.stage.folder.path("b/.chatfs/thumbnails"), F_OK) != 0)
        try await gallery.thumbnail(of: gallery.stage.fromAlice + "/note.txt", as: "normal")
        #expect(try await bob.terminate() == .code(0))
        #expect(try await gallery.entries().isEmpty)
    }

    @Test("an unusable cache only disables previews")
    func unusable() async throws {
        let gallery = try await Gallery()
        let file = try gallery.stage.folder.write([], to: "file")
        let bob = try await gallery.mount(cache: file)
        #expect(try await Shell.run("cat", [gallery.stage.fromAlice + "/note.txt"]).output == "hello\n")
        #expect(try await bob.terminate() == .code(0))
        #expect(bob.errors.split(separator: "\n").count == 1, "\(bob.errors)")
        guard geteuid() == 0 else { return }
        let disk = try await SmallDisk(at: gallery.cache, size: "64k,nr_inodes=4")
        let other = try await gallery.mount()
        #expect(try await Shell.run("cat", [gallery.stage.fromAlice + "/note.txt"]).output == "hello\n")
        #expect(try await other.terminate() == .code(0))
        #expect(other.errors.split(separator: "\n").count == 1, "\(other.errors)")
        withExtendedLifetime(disk) {}
    }

    @Test(
        "thousands of links appear quickly and vanish")
    func thousands() async throws {
        let count = 5_000
        let folder = try TemporaryFolder()
        let writer = try LongHistory(
            in: DataDirectory(folder.path("data")), reader: "reader", sender: "sender")
        _ = try writer.write(chatsOf: [count])
        let changed = try await Shell.run(
            "python3",
            [
                "-c",
                """
                import sqlite3, sys
                base = sqlite3.connect(sys.argv[1])
                base.execute("UPDATE item SET kind = 'image', preview = 'data:image/jpg;base64,/9j/AAAA'")
                base.commit()
                """, folder.path("data/chatfs.db"),
            ])
        #expect(changed.succeeded, "\(changed.errors)")
        let cache = try folder.makeFolder("desktop cache")
        let mount = try await ChatFSProcess.start(
            [
                "mount", folder.path("mount"), "--profile", "reader", "--cache-dir", folder.path("cache"),
                "--data",
                folder.path("data"),
            ], environment: ["XDG_CACHE_HOME": cache])
        try await mount.line("that it is mounted", within: .seconds(60)) { $0.contains("is mounted at") }
        let before = ContinuousClock.now
        #expect(try folder.names(in: "mount/chat 0").count == count)
        let listed = ContinuousClock.now
        func links() async throws -> Int {
            let found = try await Shell.script("find '\(cache)/thumbnails' -type l | wc -l")
            return Int(found.output.filter(\.isNumber)) ?? -1
        }
        try await wait(until: "all are offered") { try await links() == 4 * count + 1 }
        print("\(count) files: listed in \(listed - before), offered in \(ContinuousClock.now - before)")
        #expect(try await mount.terminate() == .code(0))
        #expect(try await links() == 0)
    }

    @Test("an undecodable preview is offered only once")
    func hostile() async throws {
        let gallery = try await Gallery()
        let changed = try await Shell.run(
            "python3",
            [
                "-c",
                """
                import sqlite3, sys
                base = sqlite3.connect(sys.argv[1])
                base.execute("UPDATE item SET preview = 'data:image/jpg;base64,/9j/AAAA' WHERE kind = 'image'")
                base.commit()
                """, gallery.stage.folder.path("data/chatfs.db"),
            ])
        #expect(changed.succeeded, "\(changed.errors)")
        let bob = try await gallery.mount()
        #expect(try await gallery.entries().count == 13)
        let looked = try await Shell.script("cat '\(gallery.thumbnails)'/normal/*")
        #expect(!looked.succeeded)
        try await wait(until: "the links are gone") { try await gallery.entries().count == 1 }
        #expect(try gallery.states() == ["remote"])
        #expect(try await bob.terminate() == .code(0))
    }
}
