import Glibc
import Posix
import TestSupport
import Testing

@Suite("Drafts removed or replaced while in use", .serialized)
struct RemovedDraftTests {
    private func spool(_ mounts: TwoMounts) throws -> [String] {
        try mounts.folder.names(in: "data/profiles").flatMap { profile in
            let names = try? mounts.folder.names(in: "data/profiles/\(profile)/outbox/spool")
            return names ?? []
        }
    }

    /// Runs programs on a chat's folder in parallel. Each exits with 0 or names its error.
    private func run(_ programs: [String], in mounts: TwoMounts) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for program in programs {
                group.addTask { [folder = mounts.path("alice/bob")] in
                    let outcome = try await Shell.run(
                        "python3", ["-c", program], folder: folder, limit: .seconds(180))
                    #expect(outcome.succeeded && outcome.output == "", "\(outcome.output)\(outcome.errors)")
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("an open removed draft stays fully usable")
    func open() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let program = """
            import mmap, os
            f = os.open('film.part', os.O_RDWR | os.O_CREAT | os.O_EXCL)
            data = os.urandom(300000)
            os.write(f, data); os.fsync(f)
            os.unlink('film.part')
            s = os.fstat(f)
            assert (s.st_size, s.st_nlink) == (300000, 0), s
            assert os.pread(f, 400000, 0) == data
            m = mmap.mmap(f, 300000)
            assert m[:] == data
            m[10:13] = b'new'; m.flush(); m.close()
            assert os.pread(f, 3, 10) == b'new'
            os.pwrite(f, b'end', 300000)
            assert os.fstat(f).st_size == 300003 and os.pread(f, 9, 300000) == b'end'
            os.ftruncate(f, 100)
            assert os.fstat(f).st_size == 100 and len(os.pread(f, 1000, 0)) == 100
            again = os.open('/proc/self/fd/%d' % f, os.O_RDONLY)
            assert os.fstat(again).st_size == 100
            assert not os.path.exists('film.part')
            """
        try await run([program], in: mounts)
        try await wait(until: "nothing of it is left") { try spool(mounts) == [] }
    }

    @Test("a copy of a removed draft is complete")
    func copied() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let program = """
            import os, threading
            data = os.urandom(1 << 20) * 40
            open('film.part', 'wb').write(data)
            f = open('film.part', 'rb')
            first = f.read(1 << 20)
            os.unlink('film.part')
            assert first + f.read() == data
            """
        try await run([program], in: mounts)
        try await wait(until: "nothing of it is left") { try spool(mounts) == [] }
    }

    @Test("opening a replaced name always succeeds")
    func replaced() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let ending = "end = time.time() + 4\nwhile time.time() < end:"
        let programs = [
            """
            import os, time
            n = 'x.part'; open(n, 'w').write('0')
            \(ending)
                with open('x2.part', 'w') as f: f.write('1')
                os.rename('x2.part', n)
            """,
            """
            import os, time
            # The kernel's own, where a file is emptied while a page of it is being read.
            zero = chr(0)
            while not os.path.exists('x.part'): pass
            \(ending)
                with open('x.part') as f: text = f.read()
                assert text in ('', '0', '1', '2', zero), repr(text)
                assert os.stat('x.part').st_size <= 1
            """,
            """
            import os, time
            while not os.path.exists('x.part'): pass
            \(ending)
                f = os.open('x.part', os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
                os.write(f, b'2'); os.close(f)
            """,
        ]
        try await run(programs, in: mounts)
        try await wait(until: "one file is left") { try spool(mounts).count == 1 }
    }

    @Test("concurrent creation and removal cause no error")
    func many() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        // A listing of 1,000 names needs several readdir buffers. Readers open every name in turn, so the work grows
        // quadratically.
        let count = getenv("CHATFS_REMOVED_DRAFTS").flatMap { Int(String(cString: $0)) } ?? 1_000
        func programs(_ letter: String) -> [String] {
            [
                """
                import os
                for i in range(\(count)):
                    n = '\(letter)%d.part' % i
                    with open(n, 'w') as f: f.write(n)
                    assert os.stat(n).st_size == len(n)
                    if i % 3 == 0: os.unlink(n)
                    if i % 3 == 1: os.rename(n, '\(letter)r%d.part' % i)
                open('\(letter)done.part', 'w').close()
                """,
                """
                import os
                while not os.path.exists('\(letter)done.part'):
                    for e in os.scandir('.'):
                        try: assert e.stat().st_nlink <= 1
                        except FileNotFoundError: pass
                        try:
                            with open(e.name) as f: assert f.read() in (e.name, e.name.replace('r', '', 1), '')
                        except FileNotFoundError: pass
                """,
            ]
        }
        try await run(programs("x") + programs("y"), in: mounts)
        // Each writer removes every third file and leaves a last one that marks its end.
        let remaining = 2 * (count - (count + 2) / 3 + 1)
        #expect(try mounts.folder.names(in: "alice/bob").count == remaining)
        try await wait(until: "what was removed is gone") { try spool(mounts).count == remaining }
        for name in try mounts.folder.names(in: "alice/bob") {
            #expect(unlink(mounts.path("alice/bob/" + name)) == 0)
        }
        try await wait(until: "all is gone") { try spool(mounts) == [] }
        #expect(try await mounts.leave("alice") == .code(0))
    }

    private func resident(_ process: pid_t) throws -> Int {
        let status = ProcessInformation.bytes(of: "/proc/\(process)/status") ?? []
        let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first {
            $0.hasPrefix("VmRSS:")
        }
        return try #require(line?.split(separator: " ").dropLast().last.flatMap { Int($0) }) << 10
    }

    @Test("memory of removed drafts is freed")
    func memory() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let process = try mounts.daemon("alice").processIdentifier
        let program = """
            import os
            for i in range(2500): open('%d.part' % i, 'w').close()
            for i in range(2500): os.unlink('%d.part' % i)
            """
        try await run([program], in: mounts)
        let first = try resident(process)
        for _ in 0..<3 { try await run([program], in: mounts) }
        // Each draft once leaked 2 KiB: 15 MiB for these.
        try await wait(until: "it is given back", within: .seconds(90)) {
            try resident(process) < first + (6 << 20)
        }
        #expect(try await mounts.leave("alice") == .code(0))
    }
}
