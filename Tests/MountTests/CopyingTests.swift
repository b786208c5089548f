import Glibc
import Posix
import TestSupport
import Testing

/// Copies files of every size with every tool. Each new name is one message, and the other side reads the copied bytes.
@Suite("Copying into a chat", .serialized)
struct CopyingTests {
    @Test("each way of copying sends every size once")
    func tools() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (try await mounts.mount("alice"), try await mounts.mount("bob"))
        // Around the limits of inline messages, of chunks and of their plan.
        let sizes = [1, 2, 65_000, 261_120, 261_121, 1 << 20, 3_145_729, 5_500_000]
        let ways = [
            "cp": "cp \"$SOURCE\"/cp-* \"$FOLDER/\"",
            "cpa": "cp -a \"$SOURCE\"/cpa-* \"$FOLDER/\"",
            "rsync": "rsync -a \"$SOURCE\"/rsync-* \"$FOLDER/\"",
            "dd":
                "cd \"$SOURCE\"; for n in dd-*; do dd if=\"$n\" of=\"$FOLDER/$n\" bs=9000 status=none; done",
            "cat": "cd \"$SOURCE\"; for n in cat-*; do cat \"$n\" > \"$FOLDER/$n\"; done",
            "python": """
            python3 -c "
            import glob, os, shutil
            for p in glob.glob(os.environ['SOURCE'] + '/python-*'): shutil.copy2(p, os.environ['FOLDER'])"
            """,
            "gio": "cd \"$SOURCE\"; for n in gio-*; do gio copy \"$n\" \"$FOLDER/$n\"; done",
            "tar": "cd \"$SOURCE\" && tar -c tar-* | tar -C \"$FOLDER\" -x",
        ]
        var names: [String] = []
        for way in ways.keys.sorted() {
            for size in sizes {
                let name = "\(way)-\(size) é.bin"
                #expect(try await mounts.copy("head -c \(size) /dev/urandom > \"$SOURCE/\(name)\"").succeeded)
                names.append(name)
            }
        }
        for (way, line) in ways {
            let outcome = try await mounts.copy(line)
            #expect(outcome.succeeded, "\(way): \(outcome.errors)")
        }
        try await mounts.waitForArrival(of: names)
        #expect(try await mounts.expectEqual(names))
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == names.sorted())
        // The sender sees the time set by the tool.
        for way in ["cpa", "rsync", "python", "gio", "tar"] {
            let times = try await mounts.copy("stat -c %Y \"$SOURCE\"/\(way)-1\\ * \"$FOLDER\"/\(way)-1\\ *")
            let lines = times.output.split(separator: "\n")
            #expect(lines.count == 2 && lines[0] == lines[1], "\(way)")
        }
        #expect(try await alice.terminate() == .code(0))
        #expect(try await bob.terminate() == .code(0))
    }

    @Test("a second rsync -a sends nothing")
    func rsyncTwice() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (try await mounts.mount("alice"), try await mounts.mount("bob"))
        let names = (0..<20).map { "file \($0).txt" }
        for (number, name) in names.enumerated() { try mounts.prepare(name, sample(1000, seed: number)) }
        let line = "touch -d 2020-02-02 \"$SOURCE\"/*; rsync -a --no-perms \"$SOURCE\"/ \"$FOLDER\"/"
        #expect(try await mounts.copy(line).succeeded)
        // Once while the files are drafts, and again as messages.
        let second = try await mounts.copy("rsync -ai --no-perms \"$SOURCE\"/ \"$FOLDER\"/")
        #expect(second.succeeded && !second.output.contains(">f"), "\(second.output) \(second.errors)")
        try await mounts.waitForArrival(of: names)
        let third = try await mounts.copy("rsync -ai --no-perms \"$SOURCE\"/ \"$FOLDER\"/")
        #expect(third.succeeded && !third.output.contains(">f"), "\(third.output) \(third.errors)")
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == names.sorted())
        #expect(try await mounts.expectEqual(names))
        try await alice.terminate()
        try await bob.terminate()
    }

    @Test("a thousand files are sent in copy order")
    func manyFiles() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (try await mounts.mount("alice"), try await mounts.mount("bob"))
        let names = (1000..<2000).map { "\($0).txt" }
        for name in names { try mounts.prepare(name, Array("content of \(name)".utf8)) }
        #expect(try await mounts.copy("cp \"$SOURCE\"/* \"$FOLDER\"/").succeeded)
        try await mounts.waitForArrival(of: names)
        #expect(try await mounts.expectEqual(names))
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") }.count == 1000)
        let numbers = try names.map { name in
            try ExtendedAttribute.text("user.chatfs.item-id", of: mounts.fromAlice + "/" + name).flatMap(
                Int.init)
        }
        #expect(numbers.compactMap(\.self) == numbers.compactMap(\.self).sorted() && !numbers.contains(nil))
        try await alice.terminate()
        try await bob.terminate()
    }

    @Test("editors' last content is sent once")
    func editors() async throws {
        let mounts = try await CopyStage.start()
        // Long enough for several saves.
        let alice = try await mounts.mount("alice", quietTime: "4s")
        let bob = try await mounts.mount("bob")
        let lines = [
            // sed -i on a draft: a temporary file, renamed over it.
            "cd \"$FOLDER\" && echo 'a cat' > pet.txt && sed -i s/cat/dog/ pet.txt",
            // Replacement as in Python and GLib.
            """
            cd "$FOLDER" && python3 -c "
            import os
            for word in ('first', 'second'):
                f = open('.goutputstream-A1B2C3', 'w'); f.write(word); f.flush(); os.fsync(f.fileno()); f.close()
                os.replace('.goutputstream-A1B2C3', 'letter.txt')"
            """,
            // A download under a temporary name.
            "cd \"$FOLDER\" && printf abc > film.mkv.part && mv film.mkv.part film.mkv",
            // vim in place: swap file, truncation, a test file named 4913.
            "cd \"$FOLDER\" && printf 'one\\n' > todo.txt && vim -N -u NONE -es -c 's/one/two/' -c wq todo.txt",
            // An append is a new writer of the draft.
            "cd \"$FOLDER\" && echo a > log.txt && echo b >> log.txt",
            // A temporary name only: stays.
            "cd \"$FOLDER\" && echo x > left.part && touch empty.txt",
        ]
        let hasVim = (try? Shell.find("vim")) != nil
        for line in lines where hasVim || !line.contains("vim") {
            let outcome = try await mounts.copy(line)
            #expect(outcome.succeeded, "\(line): \(outcome.errors)")
        }
        var contents = [
            "pet.txt": "a dog\n", "letter.txt": "second", "film.mkv": "abc", "log.txt": "a\nb\n",
        ]
        if hasVim { contents["todo.txt"] = "two\n" }
        try await mounts.waitForArrival(of: Array(contents.keys))
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == contents.keys.sorted())
        for (name, content) in contents {
            #expect(try mounts.folder.read("b/alice/" + name) == Array(content.utf8), "\(name)")
        }
        for name in ["left.part", "empty.txt"] {
            let path = mounts.toBob + "/" + name
            #expect(try ExtendedAttribute.text("user.chatfs.state", of: path) == "draft")
            #expect(try ExtendedAttribute.text("user.chatfs.error", of: path)?.isEmpty == false)
        }
        try await alice.terminate()
        try await bob.terminate()
    }

    @Test("readers see drafts grow; cross-chat moves are refused")
    func besidesCopying() async throws {
        let mounts = try await CopyStage.start()
        let (alice, bob) = (try await mounts.mount("alice"), try await mounts.mount("bob"))
        let grown = try await mounts.copy(
            """
            cd "$FOLDER" && python3 -c "
            w = open('grows.bin', 'wb', buffering=0); r = open('grows.bin', 'rb', buffering=0)
            for n in range(50):
                w.write(bytes([n]) * 7001)
                assert r.read(7001) == bytes([n]) * 7001, n
            w.seek(1 << 20); w.write(b'end'); w.truncate((1 << 20) + 2)
            r.seek(350050); hole = r.read(1000); assert hole == bytes(1000)
            assert r.seek(0, 2) == (1 << 20) + 2"
            """)
        #expect(grown.succeeded, "\(grown.errors)")
        let moved = try await mounts.copy("mv \"$FOLDER/grows.bin\" \"$FOLDER/../Saved notes/\"")
        #expect(!moved.succeeded)
        #expect(access(mounts.folder.path("a/Saved notes/grows.bin"), F_OK) != 0)
        try await mounts.waitForArrival(of: ["grows.bin"])
        let bytes = try mounts.folder.read("b/alice/grows.bin")
        #expect(bytes.count == (1 << 20) + 2 && bytes.suffix(2) == Array("en".utf8)[...])
        let tooLarge = try await mounts.copy(
            """
            cd "$FOLDER" && python3 -c "
            import errno, os
            f = os.open('huge', os.O_WRONLY | os.O_CREAT)
            for act in (lambda: os.pwrite(f, b'x', 1 << 30), lambda: os.ftruncate(f, (1 << 30) + 1)):
                try: act()
                except OSError as e: assert e.errno == errno.EFBIG, e
                else: assert False"
            """)
        #expect(tooLarge.succeeded, "\(tooLarge.errors)")
        try await mounts.waitUntilQuiet()
        #expect(try mounts.arrived().filter { !$0.hasPrefix("zz") } == ["grows.bin"])
        try await alice.terminate()
        try await bob.terminate()
    }
}
