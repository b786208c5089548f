import Glibc
import Posix
import TestSupport
import Testing

/// Performs the table "Unfinished files" of `docs/user/sending.md` with the real programs.
@Suite("Possibly unfinished files", .serialized)
struct UnfinishedFileTests {
    /// A program's action on `$FOLDER/$NAME`, and the file's fate.
    private struct Deed: Sendable {
        var row: String
        /// Required programs.
        var programs: [String]
        var line: String
        /// Names in the chat with one of these words in their errors; without words they are sent.
        var names: [String]
        var words: [String]

        init(_ row: String, _ programs: [String], _ line: String, _ names: [String], says words: String...) {
            (self.row, self.programs, self.line, self.names, self.words) = (row, programs, line, names, words)
        }
    }

    /// Downloads of 400,000 bytes: `/whole` complete, `/broken` cut in the middle, `/slow` over some seconds, also from
    /// an offset.
    private static let server = """
        import http.server, re, sys, time
        N = 400000; D = bytes(range(256)) * (N // 256 + 1); hits = {}
        class H(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def log_message(s, *a): pass
            def do_HEAD(s): s.go(False)
            def do_GET(s): s.go(True)
            def go(s, body):
                p = s.path; hits[p] = hits.get(p, 0) + body
                m = re.match(r'bytes=(\\d+)-(\\d*)', s.headers.get('Range') or '')
                a = int(m[1]) if m else 0; b = int(m[2]) if m and m[2] else N - 1
                s.send_response(206 if m else 200)
                if m: s.send_header('Content-Range', f'bytes {a}-{b}/{N}')
                s.send_header('Accept-Ranges', 'bytes'); s.send_header('Content-Length', str(b + 1 - a)); s.end_headers()
                if not body: return
                if 'broken' in p or 'twice' in p and hits[p] <= 1:
                    s.wfile.write(D[a:a + (b + 1 - a) // 2]); s.wfile.flush()
                    if 'late' in p: time.sleep(.5)
                    s.close_connection = True; return s.connection.close()
                while a <= b:
                    n = min(8000 if 'slow' in p else N, b + 1 - a); s.wfile.write(D[a:a + n]); s.wfile.flush(); a += n
                    if 'slow' in p: time.sleep(.1)
        h = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H); print(h.server_port, flush=True); h.serve_forever()
        """

    /// Shell functions that end a program when its file has bytes, as a terminal does: the whole process group, and with
    /// signals that the shell would have set to ignored.
    private static let functions = """
        begin() { exec 3<&0; setsid env --default-signal "$@" <&3 & }
        written() {
            until find "$FOLDER" -maxdepth 1 -name "$1" -size +0 | grep -q . || ! kill -0 $!; do sleep 0.1; done
            sleep 0.3
        }
        end() { kill -s "$1" -- "$2"; wait $!; : > "$DONE"; }
        interrupt() { pattern=$1; shift; begin "$@"; written "$pattern"; end INT -$!; }
        hold() { until [ -e "$DONE" ]; do sleep 0.1; done; }

        """

    // rsync writes its first bytes after 256 KiB, so its source is much longer.
    private static let deeds: [Deed] = [
        Deed(
            "ended by a signal after closing", ["dd"],
            """
            (head -c 300000 /dev/zero; hold) | interrupt dd.img dd of="$FOLDER/dd.img" bs=4k
            """, ["dd.img"],
            says: "dd was ended by SIGINT", "dd was interrupted"),
        Deed(
            "ended by a signal after closing", ["python3"],
            """
            python3 -c "
            import os, signal
            f = open('$FOLDER/script.txt', 'w'); f.write('a part'); f.close()
            signal.signal(signal.SIGTERM, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGTERM)"
            """, ["script.txt"], says: "was ended by SIGTERM"),
        Deed(
            "ended with an error", ["curl"], "cd \"$FOLDER\" && curl -s -O \"$URL/broken.bin\"",
            ["broken.bin"],
            says: "curl ended with the error status 18"),
        Deed(
            "ended with an error", ["pv"],
            "interrupt pv.bin sh -c 'exec pv -q -L 50k \"$SOURCE/big\" > \"$FOLDER/pv.bin\"'", ["pv.bin"],
            says: "pv ended with the error status", "was killed"),
        Deed(
            "ended with an error", ["pigz"],
            """
            (head -c 3000000 /dev/urandom; hold) | interrupt pigz.gz sh -c 'exec pigz -b 128 > "$FOLDER/pigz.gz"'
            """, ["pigz.gz"],
            says: "pigz ended with the error status", "was killed"),
        Deed(
            "ended with an error", ["python3"],
            "python3 -c \"f = open('$FOLDER/half.csv', 'w'); f.write('1,2'); f.close(); raise SystemExit(1)\"",
            ["half.csv"], says: "ended with the error status 1"),
        Deed(
            "ended with an error", ["bash", "curl"],
            "bash -c 'echo header; exec curl -s \"$URL/broken.late.exec\"' > \"$FOLDER/exec.bin\"",
            ["exec.bin"],
            says: "curl ended with the error status 18"),
        Deed(
            "ended with an error", ["curl"],
            "curl -s \"$URL/broken.late.pipe\" | cat > \"$FOLDER/piped.bin\"", ["piped.bin"],
            says: "curl ended with the error status 18"),
        Deed(
            "ended with an error", ["busybox"],
            "busybox wget -q -O \"$FOLDER/busy.bin\" \"$URL/broken.busy\"", ["busy.bin"],
            says: "wget ended with the error status 1"),
        Deed(
            "ended with an error", ["perl"],
            """
            perl -e 'open O, ">", shift; print O "half"; close O; open I, "<", "/nonexistent" or die' \
                "$FOLDER/perl.txt"
            """, ["perl.txt"], says: "ended with the error status 2"),
        // Root's tar changes the owner of the first file, which is refused.
        Deed(
            "ended with an error", ["tar"],
            """
            cd "$SOURCE" && cp big zztar.bin && cp big tar.bin
            [ "$(id -u)" != 0 ] || chown 1000:1000 zztar.bin tar.bin
            tar c zztar.bin tar.bin | head -c 400000 > ../cut.tar
            tar x -C "$FOLDER" -f ../cut.tar
            """, ["tar.bin"], says: "tar ended with the error status 2"),
        Deed(
            "ended by a signal after closing", ["gzip"],
            """
            head -c 20000000 /dev/urandom > "$SOURCE/noise"
            sh -c 'cat "$SOURCE/noise"; kill -9 $$' | gzip -1 > "$FOLDER/killed.gz"
            """, ["killed.gz"], says: "was ended by SIGKILL"),
        Deed(
            "ended by a signal after closing", ["bash"],
            """
            interrupt loop.bin bash -c 'for i in 1 2; do head -c 1000 /dev/zero; sleep 5; done > "$FOLDER/loop.bin"'
            """, ["loop.bin"], says: "was ended by SIGINT", "was killed", "was interrupted"),
        Deed(
            "program that resumes", ["wget"],
            "cd \"$FOLDER\" && wget -q \"$URL/twice.bin\"", ["twice.bin"]),
        Deed(
            "program that resumes", ["python3"],
            """
            python3 -c "
            import time
            for part in 'half', 'whole':
                f = open('$FOLDER/again.txt', 'w'); f.write(part); f.close()
                time.sleep(1.5)"
            """, ["again.txt"]),
        Deed(
            "ended with an error", ["wget"],
            "cd \"$FOLDER\" && wget -q -t 2 -w 0 \"$URL/broken.iso\"", ["broken.iso"],
            says: "wget ended with the error status"),
        Deed(
            "signal being handled", ["rsync"],
            """
            interrupt '.rsync.bin.*' rsync --partial --bwlimit=1000 "$SOURCE/large" "$FOLDER/rsync.bin"
            """, ["rsync.bin"],
            says: "rsync ended with the error status", "rsync was interrupted", "was killed"),
        Deed(
            "signal being handled", ["rsync"],
            """
            begin rsync --inplace --bwlimit=1000 "$SOURCE/large" "$FOLDER/inplace.bin"
            written inplace.bin
            end TERM -$!
            """, ["inplace.bin"],
            says: "rsync ended with the error status", "rsync was interrupted", "was killed"),
        Deed(
            "server lost its client", ["sftp", "/usr/lib/openssh/sftp-server"],
            """
            printf 'put %s %s\\n' "$SOURCE/large" "$FOLDER/sftp.bin" > "$SOURCE/../batch"
            (cat "$SOURCE/../batch"; hold) | {
                begin sftp -q -l 8000 -D /usr/lib/openssh/sftp-server
                written sftp.bin
                end KILL $!
            }
            """, ["sftp.bin"], says: "sftp-server ended before it had closed this file",
            "sftp-server ended with the error status", "sftp-server was ended by", "was killed"),
        Deed(
            "download with a state file", ["axel"],
            "cd \"$FOLDER\" && interrupt slow-axel.bin axel -q -n 2 \"$URL/slow-axel.bin\"",
            ["slow-axel.bin", "slow-axel.bin.st"],
            says: "download is not complete", "keeps its notes"),
        Deed(
            "download with a state file", ["aria2c"],
            """
            cd "$FOLDER"
            interrupt slow-aria.bin aria2c -q -s 1 --file-allocation=none --disk-cache=0 "$URL/slow-aria.bin"
            """, ["slow-aria.bin"], says: "download is not complete", "was killed"),
        Deed(
            "rename refused", ["python3"],
            """
            python3 -c "
            import os
            f = open('$FOLDER/notes new.txt', 'w'); f.write('two'); f.close()
            try: os.rename('$FOLDER/notes new.txt', '$FOLDER/notes.txt')
            except OSError: pass"
            """, ["notes new.txt"], says: "was refused a rename"),
        Deed("finished normally", ["cp"], "cp \"$SOURCE/big\" \"$FOLDER/cp.bin\"", ["cp.bin"]),
        Deed(
            "finished normally", ["cp"], "cd \"$SOURCE\" && cp big missing small \"$FOLDER\"",
            ["big", "small"]),
        Deed("finished normally", ["gio"], "gio copy \"$SOURCE/big\" \"$FOLDER/gio.bin\"", ["gio.bin"]),
        Deed(
            "finished normally", ["diff"], "diff \"$SOURCE/big\" \"$SOURCE/small\" > \"$FOLDER/diff.txt\"",
            ["diff.txt"]),
        Deed("finished normally", ["wget"], "cd \"$FOLDER\" && wget -q \"$URL/whole.bin\"", ["whole.bin"]),
        Deed(
            "finished normally", ["sftp", "/usr/lib/openssh/sftp-server"],
            """
            printf 'put %s %s\\n' "$SOURCE/small" "$FOLDER/small.bin" > "$SOURCE/../whole"
            sftp -q -b "$SOURCE/../whole" -D /usr/lib/openssh/sftp-server
            """, ["small.bin"]),
        Deed(
            "finished normally", ["rsync"], "rsync -a --partial \"$SOURCE/big\" \"$FOLDER/rsynced.bin\"",
            ["rsynced.bin"]),
        Deed(
            "finished normally", ["axel"], "cd \"$FOLDER\" && axel -q -n 2 \"$URL/axel.bin\"", ["axel.bin"]),
    ]

    private static func isThere(_ program: String) -> Bool {
        program.hasPrefix("/") ? access(program, X_OK) == 0 : (try? Shell.find(program)) != nil
    }

    @Test("the table lists the performed cases")
    func rows() throws {
        let rows = Set(
            try FilesystemPageTests.rows(of: "docs/user/sending.md", below: "Unfinished files").map { $0[0] })
        #expect(rows == Set(Self.deeds.map(\.row)).union(["source broke off", "sidecar or part"]))
    }

    @Test("unfinished programs' files are held, others sent")
    func programs() async throws {
        let server = try await RunningProcess.start(
            ChildProcess.Settings(try Shell.find("python3"), ["-c", Self.server]))
        let port = try await server.line("its port")
        defer { server.send(SIGKILL) }
        let mounts = try await CopyStage.start()
        let (alice, bob) = (
            try await mounts.mount("alice", quietTime: "200ms"),
            try await mounts.mount("bob", options: ["--delete", "self"])
        )
        try mounts.prepare("big", sample(300_000))
        try mounts.prepare("small", sample(5000))
        try mounts.prepare("large", [UInt8](repeating: 7, count: 20_000_000))
        // A received file for changes in place.
        try mounts.folder.write(Array("one\r\n".utf8), to: "b/alice/notes.txt")
        try await wait(until: "it is there") { access(mounts.toBob + "/notes.txt", F_OK) == 0 }
        let deeds = Self.deeds.filter { deed in
            let missing = deed.programs.filter { !Self.isThere($0) }
            if !missing.isEmpty {
                print("skipped for lack of \(missing.joined(separator: ", ")): \(deed.line)")
            }
            return missing.isEmpty
        }
        for (number, deed) in deeds.enumerated() {
            _ = try await Shell.script(
                Self.functions + deed.line,
                environment: [
                    "SOURCE": mounts.source, "FOLDER": mounts.toBob, "URL": "http://127.0.0.1:\(port)",
                    "DONE": mounts.folder.path("done \(number)"),
                ], limit: .seconds(60))
        }
        try await mounts.waitForArrival(of: deeds.filter { $0.words.isEmpty }.flatMap(\.names))
        let status = try await ChatFSProcess.run(["status", mounts.folder.path("a")]).output
        for deed in deeds where !deed.words.isEmpty {
            for name in deed.names {
                let path = mounts.toBob + "/" + name
                try await wait(until: "\(name) is held") {
                    let problem = try ExtendedAttribute.text("user.chatfs.error", of: path) ?? ""
                    return deed.words.contains { problem.contains($0) }
                }
                #expect(try mounts.state(name) == "draft")
                #expect(status.contains(name), "\(name)")
            }
        }
        try await mounts.waitUntilQuiet()
        let sent = deeds.filter { $0.words.isEmpty }.flatMap(\.names)
        #expect(Set(try mounts.arrived().filter { !$0.hasPrefix("zz") && $0 != "notes.txt" }) == Set(sent))
        #expect(try mounts.folder.read("b/alice/cp.bin") == sample(300_000))
        #expect(try mounts.folder.read("b/alice/again.txt") == Array("whole".utf8))
        if Self.isThere("wget") { #expect(try mounts.folder.read("b/alice/twice.bin").count == 400_000) }
        try await decide(mounts, alice, bob)
    }

    /// Actions of users and programs on held files.
    private func decide(_ mounts: CopyStage, _ alice: RunningProcess, _ bob: RunningProcess) async throws {
        // The next mount remembers and sends nothing.
        #expect(try await alice.terminate() == .code(0))
        let again = try await mounts.mount("alice", quietTime: "200ms")
        try await mounts.waitUntilQuiet()
        #expect(try !mounts.arrived().contains("dd.img"))
        #expect(try mounts.state("dd.img") == "draft")
        #expect(try await ChatFSProcess.run(["retry", mounts.toBob + "/dd.img"]).succeeded)
        #expect(try await ChatFSProcess.run(["cancel", mounts.toBob + "/half.csv"]).succeeded)
        #expect(access(mounts.toBob + "/half.csv", F_OK) == -1)
        // The program's own retry: rewritten and renamed.
        #expect(try await mounts.copy("printf whole > \"$FOLDER/script.txt\"").succeeded)
        try mounts.prepare("whole", sample(400_000))
        if Self.isThere("curl") {
            #expect(
                try await mounts.copy(
                    "cp \"$SOURCE/whole\" \"$FOLDER/.new\" && mv -f \"$FOLDER/.new\" \"$FOLDER/broken.bin\""
                )
                .succeeded)
            try await mounts.waitForArrival(of: ["broken.bin"])
            #expect(try mounts.folder.read("b/alice/broken.bin") == sample(400_000))
        }
        try await mounts.waitForArrival(of: ["dd.img", "script.txt"])
        #expect(try mounts.folder.read("b/alice/script.txt") == Array("whole".utf8))
        #expect(try await again.terminate() == .code(0))
        try await bob.terminate()
    }

    @Test("forwarded partial downloads are held")
    func brokenSource() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", ["--no-finish", "--quiet-time", "200ms"])
        let bytes = TwoMounts.bytes(9_000_000)
        try await mounts.send(bytes, as: "film.bin")
        let source = mounts.path("bob/alice/film.bin")
        // The first chunk is local, and the relay is gone.
        #expect(try await Shell.run("head", ["-c", "1000", source]).succeeded)
        try await mounts.relay.terminate()
        let folder = mounts.path("bob/alice")
        let copies = [
            "cp": "cp \"$SOURCE\" \"$FOLDER/cp\"", "install": "install \"$SOURCE\" \"$FOLDER/install\"",
            "python": "python3 -c \"import shutil; shutil.copyfile('$SOURCE', '$FOLDER/python')\"",
            "gio": "gio copy \"$SOURCE\" \"$FOLDER/gio\"", "pipe": "cat \"$SOURCE\" | cat > \"$FOLDER/pipe\"",
        ]
        for (name, line) in copies.sorted(by: { $0.key < $1.key }) {
            let copy = try await Shell.script(line, environment: ["SOURCE": source, "FOLDER": folder])
            #expect(!copy.succeeded || name == "pipe", "\(name)")
            // Some programs remove unfinished files.
            guard access(folder + "/" + name, F_OK) == 0 else { continue }
            try await wait(until: "\(name) is held") {
                let problem = try ExtendedAttribute.text("user.chatfs.error", of: folder + "/" + name)
                return problem?.contains("could not read all of the file") == true
            }
            #expect(try mounts.state("bob/alice/" + name) == "draft")
        }
        #expect(access(folder + "/cp", F_OK) == 0)
        // Another filesystem than the source's sees no failed read, and cp runs on.
        let copy = try await Shell.script(
            """
            cd "$SPACE"; ln -s "$SOURCE" half.bin; mkfifo late
            (sleep 3; echo late) > late &
            cp half.bin late "$FOLDER"
            """,
            environment: [
                "SOURCE": source, "FOLDER": mounts.path("alice/bob"),
                "SPACE": try mounts.folder.makeFolder("space"),
            ])
        #expect(!copy.succeeded)
        let problem = try ExtendedAttribute.text("user.chatfs.error", of: mounts.path("alice/bob/half.bin"))
        #expect(problem?.contains("cp could not read all of the file") == true, "\(problem ?? "sent")")
        #expect(try await mounts.leave("bob") == .code(0))
    }
}
