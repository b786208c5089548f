import Glibc
import Posix
import TestSupport
import Testing

@Suite("Windows that list files without known types", .serialized)
struct FolderViewerTests {
    private static let size = 300_000
    private static let names = ["backup", "firmware.bin", "model.xyz", "old.dat", "song.ogg", "plan.pdf"]

    /// Bob's mount with remote files.
    private static func stage() async throws -> TwoMounts {
        let mounts = try await TwoMounts.start(mounting: [])
        try await mounts.mount("alice", ["--quiet-time", "0s"])
        try await mounts.mount("bob")
        for (number, name) in names.enumerated() {
            try mounts.write(TwoMounts.bytes(size, seed: number), to: "alice/bob/" + name)
        }
        for name in names { try await mounts.waitForState("sent", of: "alice/bob/" + name) }
        try await mounts.waitForFiles(names, in: "bob/alice")
        return mounts
    }

    private static func files(_ mounts: TwoMounts) -> [String] {
        names.map { mounts.path("bob/alice/" + $0) }
    }

    private static func expectNothingFetched(_ mounts: TwoMounts) async throws {
        let outcome = try await ChatFSProcess.run(["status", "--json", mounts.path("bob")])
        #expect(outcome.output.contains("\"cachedBytes\" : 0,"), "\(outcome.output)")
        #expect(outcome.output.contains(/"transfers" : \[\s*\]/), "\(outcome.output)")
        for name in names {
            #expect(try mounts.state("bob/alice/" + name) == "remote")
            #expect(
                try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("bob/alice/" + name)) == nil)
        }
    }

    /// Reads like GIO and Qt. `qt`: has that library mapped and watches the folder, as a window does.
    private static let script = """
        import ctypes, mmap, os, sys
        how, folder, library = sys.argv[1:4]
        def attempt(path, flags, count):
            try:
                handle = os.open(path, flags)
                try: return len(os.read(handle, count))
                finally: os.close(handle)
            except PermissionError: return -1
        if how == "qt":
            mapped = mmap.mmap(os.open(library, os.O_RDONLY), 0, prot=mmap.PROT_READ)
            c = ctypes.CDLL(None)
            assert c.inotify_add_watch(c.inotify_init(), folder.encode(), 0x100) >= 0
        for name in sys.argv[4:]:
            path = folder + "/" + name
            if how == "copy": print(name, attempt(path, os.O_RDONLY, 131072))
            elif how == "gio": print(name, attempt(path, os.O_RDONLY | os.O_NOATIME, 4096))
            else: print(name, attempt(path, os.O_RDONLY, 16384))
        """

    /// Bytes read of each file, or -1 if the program was refused.
    private static func look(
        _ how: String, _ mounts: TwoMounts, _ names: [String] = names
    ) async throws -> [String: Int] {
        let library = try mounts.folder.write([1], to: "libQt5Core.so.5")
        let outcome = try await Shell.run(
            "python3", ["-c", script, how, mounts.path("bob/alice"), library] + names, limit: .seconds(25))
        #expect(outcome.succeeded, "\(outcome.errors)")
        let lines = outcome.output.split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: lines.map { (String($0[0]), Int($0[1]) ?? -2) })
    }

    @Test func silentRelayHoldsUpNoWindow() async throws {
        let mounts = try await Self.stage()
        mounts.relay.send(SIGSTOP)
        defer { mounts.relay.send(SIGCONT) }
        // A single wait for the relay would exceed the shell's time limit.
        #expect(try await Self.look("gio", mounts).values.allSatisfy { $0 == -1 })
        let unsettled = Self.names.filter { $0 != "plan.pdf" }
        #expect(try await Self.look("qt", mounts, unsettled).values.allSatisfy { $0 == -1 })
        if let gio = try? Shell.find("gio") {
            let info = try await Shell.run(
                gio, ["info", "-a", "standard::content-type"] + Self.files(mounts), limit: .seconds(25))
            #expect(info.succeeded, "\(info.errors)")
        }
        try await Self.expectNothingFetched(mounts)
    }

    @Test func listingFetchesNothingAndCopyEverything() async throws {
        let mounts = try await Self.stage()
        _ = try await Self.look("gio", mounts)
        _ = try await Self.look("qt", mounts, Self.names.filter { $0 != "plan.pdf" })
        try await Self.expectNothingFetched(mounts)
        // The same program continues to read, another copies, and a third maps the file.
        #expect(try await Self.look("copy", mounts, ["backup"]) == ["backup": 131_072])
        #expect(try mounts.read("bob/alice/model.xyz") == TwoMounts.bytes(Self.size, seed: 2))
        let tar = try await Shell.script(
            "tar -C '\(mounts.path("bob/alice"))' --atime-preserve=system -cf - old.dat | tar -xOf - | "
                + "cmp - '\(mounts.path("alice/bob/old.dat"))'")
        #expect(tar.succeeded, "\(tar.errors)")
        let mapped = try await Shell.run(
            "python3",
            [
                "-c",
                "import mmap,os,sys;f=os.open(sys.argv[1],os.O_RDONLY|os.O_NOATIME);"
                    + "print(len(mmap.mmap(f,0,prot=mmap.PROT_READ)[:100]))",
                mounts.path("bob/alice/firmware.bin"),
            ])
        #expect(mapped.output == "100\n", "\(mapped.errors)")
        if let gio = try? Shell.find("gio") {
            let copy = mounts.folder.path("copy")
            let copied = try await Shell.run(gio, ["copy", mounts.path("bob/alice/song.ogg"), copy])
            #expect(copied.succeeded, "\(copied.errors)")
            #expect(try await Shell.run("cmp", [copy, mounts.path("alice/bob/song.ogg")]).succeeded)
        }
    }
}
