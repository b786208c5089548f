import Glibc
import Posix
import TestSupport
import Testing

@Suite("Pasted folders", .serialized)
struct PastedFolderTests {
    /// Short for a test, and long enough for a tool between two files.
    private static let archiving = ["--quiet-time", "200ms"]

    private func start() async throws -> TwoMounts {
        let mounts = try await TwoMounts.start(mounting: ["bob"])
        try await mounts.mount("alice", Self.archiving)
        return mounts
    }

    /// A folder with files of several sizes, nested and empty folders, and unusual names.
    private func makeHoliday(_ mounts: TwoMounts) throws -> String {
        let root = mounts.path("Holiday")
        for folder in ["", "/second day", "/second day/deep", "/empty", "/Ünï ☀"] {
            mkdir(root + folder, 0o755)
        }
        let files: [(String, Int)] = [
            ("a.txt", 10), ("beach.jpg", 300_000), ("second day/b.bin", 1_000_000), ("second day/deep/c", 1),
            ("nothing", 0), ("Ünï ☀/Käse.txt", 77), (".hidden.part", 5),
        ]
        for (index, file) in files.enumerated() {
            try mounts.folder.write(TwoMounts.bytes(file.1, seed: index), to: "Holiday/" + file.0)
        }
        return root
    }

    private func shell(_ script: String, _ mounts: TwoMounts) async throws {
        let outcome = try await Shell.script(
            "set -e\n" + script, folder: mounts.folder.path, environment: ["HOME": mounts.folder.path],
            limit: .seconds(60))
        #expect(outcome.succeeded, "\(script): \(outcome.output)\(outcome.errors)")
    }

    /// Waits for the archive at bob's and compares its content with a folder.
    private func expect(
        _ archive: String, equals folder: String, _ mounts: TwoMounts
    ) async throws {
        try await wait(until: "\(archive) is at bob's", within: .seconds(30)) {
            access(mounts.path("bob/alice/" + archive), F_OK) == 0
        }
        try await shell(
            """
            rm -rf out got.zip && mkdir out && cp 'bob/alice/\(archive)' got.zip && unzip -q got.zip -d out
            diff -r 'out/Holiday' '\(folder)' && python3 -m zipfile -t got.zip
            """, mounts)
    }

    private func names(_ mounts: TwoMounts, _ chat: String = "alice/bob") throws -> [String] {
        try mounts.folder.names(in: chat).sorted()
    }

    @Test(
        "each way of copying sends one archive",
        arguments: [
            "cp -r Holiday alice/bob/", "cp -a Holiday alice/bob/", "rsync -a Holiday alice/bob/",
            "tar -c Holiday | tar -x -C alice/bob",
            "mkdir alice/bob/Holiday && cp -r Holiday/. alice/bob/Holiday/",
            "mkdir 'alice/bob/Untitled Folder' && cp -r Holiday/. 'alice/bob/Untitled Folder/' "
                + "&& mv 'alice/bob/Untitled Folder' alice/bob/Holiday",
            "cp -r Holiday moved && mv moved alice/bob/Holiday",
        ])
    func copied(_ command: String) async throws {
        let mounts = try await start()
        let holiday = try makeHoliday(mounts)
        try await shell(command, mounts)
        #expect(try names(mounts).contains("Holiday"))
        #expect(try mounts.state("alice/bob/Holiday") == "draft")
        try await shell("diff -r Holiday alice/bob/Holiday", mounts)
        try await expect("Holiday.zip", equals: holiday, mounts)
        try await mounts.waitForState("sent", of: "alice/bob/Holiday.zip")
        #expect(try names(mounts) == ["Holiday.zip"])
        // A second archive would have arrived by then.
        try await Task.sleep(for: .seconds(1))
        #expect(try names(mounts, "bob/alice") == ["Holiday.zip"], "once")
        // The same folder again is another message with the next name.
        try await shell("cp -r Holiday alice/bob/", mounts)
        try await expect("Holiday (2).zip", equals: holiday, mounts)
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
    }

    @Test("before it is quiet the folder is ordinary")
    func changed() async throws {
        let mounts = try await start()
        try await shell(
            """
            cd alice/bob && mkdir Holiday && cd Holiday && mkdir a a/b && echo one > a/b/1 && echo two > 2
            mv a/b/1 a/first && rmdir a/b && mv a c && echo three >> 2 && echo x > gone && rm gone
            echo old > target && echo new > source && mv source target && test "$(cat target)" = new
            ! rmdir c && ! mkdir c && ! mv target ../elsewhere && ! mv c ../c && mkdir e && touch -d 2001-02-03 2
            echo part > film.part && mv film.part film && rm -r e && test "$(ls | tr '\\n' ' ')" = "2 c film target "
            truncate -s 3 film && chmod 600 2 && test "$(stat -c %Y 2)" = "$(date -d 2001-02-03 +%s)"
            """, mounts)
        try await mounts.waitForFile("bob/alice/Holiday.zip")
        try await shell(
            """
            cp bob/alice/Holiday.zip got.zip && unzip -q got.zip -d out && cd out/Holiday
            test "$(find . -type f | sort | tr '\\n' ' ')" = "./2 ./c/first ./film ./target "
            printf 'two\\nthree\\n' | cmp - 2 && printf par | cmp - film && echo one | cmp - c/first
            """, mounts)
    }

    @Test("removed and empty folders are not sent")
    func removed() async throws {
        let mounts = try await start()
        _ = try makeHoliday(mounts)
        try await shell(
            "cp -r Holiday alice/bob/ && rm -r alice/bob/Holiday && mkdir -p alice/bob/empty/more", mounts)
        // Longer than the quiet time: nothing arrives.
        try await Task.sleep(for: .seconds(2))
        #expect(try names(mounts) == ["empty"])
        #expect(try names(mounts, "bob/alice") == [])
        try await shell("rmdir alice/bob/empty/more alice/bob/empty", mounts)
        #expect(try await mounts.leave("alice") == .code(0))
        #expect(try spool(mounts) == [])
    }

    private func spool(_ mounts: TwoMounts) throws -> [String] {
        try mounts.folder.names(in: "data/profiles").flatMap { profile in
            (try? mounts.folder.names(in: "data/profiles/\(profile)/outbox/spool")) ?? []
        }
    }

    @Test("the folder waits while it is written")
    func writing() async throws {
        let mounts = try await start()
        try await shell("mkdir alice/bob/Holiday && echo 1 > alice/bob/Holiday/1", mounts)
        let open = try mounts.create("alice/bob/Holiday/2")
        try open.write([1, 2, 3], at: 0)
        // Longer than the quiet time: it stays.
        try await Task.sleep(for: .seconds(3))
        #expect(try names(mounts) == ["Holiday"])
        try open.write([4], at: 3)
        withExtendedLifetime(open) {}
    }

    @Test("unmounting sends a complete folder")
    func unmounted() async throws {
        let mounts = try await start()
        let holiday = try makeHoliday(mounts)
        try await shell("cp -r Holiday alice/bob/", mounts)
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice", Self.archiving)
        try await expect("Holiday.zip", equals: holiday, mounts)
        #expect(try names(mounts) == ["Holiday.zip"])
    }

    @Test(
        "after a kill the folder needs a retry")
    func killed() async throws {
        let mounts = try await start()
        let holiday = try makeHoliday(mounts)
        try await shell("cp -r Holiday alice/bob/", mounts)
        try mounts.daemon("alice").send(SIGKILL)
        try await mounts.daemon("alice").ending()
        try await shell("umount -l alice 2>/dev/null || fusermount3 -uz alice", mounts)
        try await mounts.mount("alice", Self.archiving)
        // Empty folders are no parts.
        rmdir(holiday + "/empty")
        try await shell("diff -r Holiday alice/bob/Holiday", mounts)
        let problem = try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("alice/bob/Holiday"))
        #expect(problem?.contains("chatfs retry") == true, "\(problem ?? "none")")
        let status = try await ChatFSProcess.run(["status", mounts.path("alice")])
        #expect(
            status.output.contains("bob/Holiday") && status.output.contains("chatfs retry"),
            "\(status.output)")
        // Longer than the quiet time: nothing arrives.
        try await Task.sleep(for: .seconds(2))
        #expect(try names(mounts, "bob/alice") == [])
        let outcome = try await ChatFSProcess.run(["retry", mounts.path("alice/bob/Holiday")])
        #expect(outcome.succeeded, "\(outcome.errors)")
        try await expect("Holiday.zip", equals: holiday, mounts)
        #expect(try names(mounts) == ["Holiday.zip"])
    }

    @Test("a further file completes a leftover folder")
    func completed() async throws {
        let mounts = try await start()
        try await shell("mkdir alice/bob/Holiday && echo 1 > alice/bob/Holiday/1", mounts)
        try mounts.daemon("alice").send(SIGKILL)
        try await mounts.daemon("alice").ending()
        try await shell("umount -l alice 2>/dev/null || fusermount3 -uz alice", mounts)
        // Even if new folders are refused meanwhile.
        try await mounts.mount("alice", ["--quiet-time", "200ms"])
        #expect(try names(mounts) == ["Holiday"])
        #expect(try await mounts.leave("alice") == .code(0))
        try await mounts.mount("alice", Self.archiving)
        try await shell("echo 2 > alice/bob/Holiday/2", mounts)
        try await mounts.waitForFile("bob/alice/Holiday.zip")
        try await shell(
            "python3 -m zipfile -l bob/alice/Holiday.zip > list && grep -q 'Holiday/1 ' list", mounts)
        try await shell("grep -q 'Holiday/2 ' list", mounts)
    }

    @Test("a killed writer's part stops the folder")
    func incomplete() async throws {
        let mounts = try await start()
        try await shell(
            """
            mkdir alice/bob/Holiday && echo 1 > alice/bob/Holiday/1
            sh -c 'exec 3> alice/bob/Holiday/2; echo x >&3; kill -9 $$' || true
            """, mounts)
        try await wait(until: "it says so", within: .seconds(20)) {
            try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("alice/bob/Holiday"))?
                .contains("incomplete") == true
        }
        #expect(try names(mounts, "bob/alice") == [])
        try await shell("echo whole > alice/bob/Holiday/2", mounts)
        try await mounts.waitForFile("bob/alice/Holiday.zip")
    }

    @Test("folders are refused where sending is impossible")
    func refused() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.mount("alice", Self.archiving)
        try await mounts.mount("bob", ["--folders", "refuse"])
        #expect(errorCode { mkdir(mounts.path("alice/folder"), 0o700) } == EPERM)
        #expect(errorCode { mkdir(mounts.path("alice/bob/.folder"), 0o700) } == EPERM)
        #expect(errorCode { mkdir(mounts.path("alice/bob/.Trash-1000"), 0o700) } == EPERM)
        try mounts.write([1], to: "alice/bob/taken")
        #expect(errorCode { mkdir(mounts.path("alice/bob/taken"), 0o700) } == EEXIST)
        #expect(errorCode { rmdir(mounts.path("alice/bob")) } == EPERM)
        #expect(errorCode { mkdir(mounts.path("bob/alice/folder"), 0o700) } == EPERM, "not wanted")
        let deep = "alice/bob/" + (0..<32).map { "d\($0)" }.joined(separator: "/")
        try await shell("mkdir -p \(deep) && ! mkdir \(deep)/more 2>/dev/null && rm -r alice/bob/d0", mounts)
    }
}
