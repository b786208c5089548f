import Glibc
import Posix
import TestSupport
import Testing

/// Sidecars, partial files and unsaved texts, made by the real programs. The tables "Sidecars and parts" and
/// "Unfinished files" of `docs/user/sending.md` list them.
@Suite("Sidecar files", .serialized)
struct SidecarTests {
    /// A program's action on files of `$FOLDER`, the resulting names and their states.
    private struct Deed: Sendable {
        var programs: [String]
        var line: String
        var names: [String]
        var word: String
    }

    /// A site with a video whose picture and sound are two files.
    private static let server = """
        import http.server
        D = bytes(range(256)) * 400
        class H(http.server.BaseHTTPRequestHandler):
            def log_message(s, *a): pass
            def do_HEAD(s): s.go()
            def do_GET(s): s.go()
            def go(s):
                s.send_response(200); s.send_header('Content-Length', str(len(D)))
                s.send_header('Content-Type', 'video/mp4'); s.end_headers()
                if s.command == 'GET': s.wfile.write(D)
        h = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H); print(h.server_port, flush=True); h.serve_forever()
        """

    private static let deeds: [Deed] = [
        Deed(
            programs: ["sqlite3"],
            line: """
                (echo 'SELECT * FROM t;'; sleep 3) | sqlite3 "file:$FOLDER/wal.db?mode=rw" >/dev/null 2>&1 &
                printf x > "$FOLDER/wal.db-journal"; wait
                """, names: ["wal.db-journal"], word: "keeps this file beside"),
        Deed(
            programs: ["gdalinfo"], line: "gdalinfo -stats \"$FOLDER/map.asc\"", names: ["map.asc.aux.xml"],
            word: "keeps this file beside"),
        Deed(
            programs: ["nano", "script", "timeout"],
            line: """
                (printf 'new words'; sleep 2) | TERM=xterm script -qc "timeout --foreground -s HUP 1 nano '$FOLDER/letter.txt'" /dev/null
                """, names: ["letter.txt.save"], word: "was not saved"),
        Deed(
            programs: ["yt-dlp", "python3"],
            line: """
                printf '{"id":"x","title":"clip","_type":"video","extractor":"t","formats":[
                {"format_id":"0","url":"%s/v","ext":"mp4","vcodec":"h","acodec":"none","protocol":"http"},
                {"format_id":"251","url":"%s/a","ext":"webm","vcodec":"none","acodec":"o","protocol":"http"}]}' "$URL" "$URL" \
                > "$SOURCE/../info.json"
                cd "$FOLDER" && PATH="$SOURCE/none:/usr/bin" yt-dlp -q --no-config --ffmpeg-location "$SOURCE/none" \
                    --load-info-json "$SOURCE/../info.json" -f 0+251 -o 'clip.%(ext)s' --keep-video
                """, names: ["clip.f0.mp4", "clip.f251.webm"], word: "one file of several parts"),
        Deed(programs: ["dos2unix"], line: "dos2unix -q \"$FOLDER/notes.txt\"", names: [], word: "temporary"),
        Deed(
            programs: ["qpdf"], line: "qpdf --replace-input \"$FOLDER/doc.pdf\"",
            names: ["doc.pdf.~qpdf-temp#"], word: "temporary"),
        // As Flatpak's document portal does.
        Deed(
            programs: ["python3"],
            line: """
                python3 -c "open('$FOLDER/.xdp-report.txt-A1b2C3', 'w').write('text')"
                python3 -c "open('$FOLDER/para.mp4.part-Frag4', 'w').write('text')"
                """, names: [".xdp-report.txt-A1b2C3", "para.mp4.part-Frag4"], word: "temporary"),
        // Copies of such files are ordinary files.
        Deed(
            programs: ["cp"],
            line: "cp \"$SOURCE/map.asc.ovr\" \"$SOURCE/film.f4v\" \"$SOURCE/a.save\" \"$FOLDER/\"",
            names: ["map.asc.ovr", "film.f4v", "a.save"], word: ""),
        Deed(
            programs: ["python3"], line: "python3 -c \"open('$FOLDER/x.aux.xml', 'w').write('text')\"",
            names: ["x.aux.xml"], word: ""),
    ]

    @Test("sidecars stay local, copies are sent")
    func programs() async throws {
        let server = try await RunningProcess.start(
            ChildProcess.Settings(try Shell.find("python3"), ["-c", Self.server]))
        let port = try await server.line("its port")
        defer { server.send(SIGKILL) }
        let mounts = try await CopyStage.start()
        let (alice, bob) = (
            try await mounts.mount("alice", quietTime: "200ms"), try await mounts.mount("bob")
        )
        for name in ["map.asc.ovr", "film.f4v", "a.save"] { try mounts.prepare(name, Array("text".utf8)) }
        // Received files, which programs then read or try to change.
        let grid = "ncols 4\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3 4\n5 6 7 8\n"
        let received = [
            "map.asc": Array(grid.utf8), "letter.txt": Array("words\n".utf8),
            "notes.txt": Array("one\r\ntwo\r\n".utf8), "wal.db": Array("not read".utf8),
            "doc.pdf": Array(Self.document.utf8),
        ]
        for (name, bytes) in received { try mounts.folder.write(bytes, to: "b/alice/" + name) }
        try await wait(until: "they are there") {
            Set(received.keys).isSubset(of: try mounts.folder.names(in: "a/bob"))
        }
        let before = try mounts.folder.names(in: "a/bob")
        let deeds = Self.deeds.filter { deed in
            let missing = deed.programs.filter { (try? Shell.find($0)) == nil }
            if !missing.isEmpty {
                print("skipped for lack of \(missing.joined(separator: ", ")): \(deed.line)")
            }
            return missing.isEmpty
        }
        for deed in deeds {
            let outcome = try await Shell.script(
                deed.line,
                environment: [
                    "SOURCE": mounts.source, "FOLDER": mounts.toBob, "URL": "http://127.0.0.1:\(port)",
                ], limit: .seconds(60))
            for name in deed.names {
                #expect(
                    access(mounts.toBob + "/" + name, F_OK) == 0,
                    "\(name): \(outcome.errors)\(outcome.output)")
            }
        }
        let sent = deeds.filter { $0.word.isEmpty }.flatMap(\.names)
        try await mounts.waitForArrival(of: sent)
        let status = try await ChatFSProcess.run(["status", mounts.folder.path("a")]).output
        for deed in deeds where !deed.word.isEmpty {
            var names = deed.names
            if names.isEmpty {
                names = try mounts.folder.names(in: "a/bob").filter {
                    $0.hasPrefix("d2utmp") && !before.contains($0)
                }
                #expect(!names.isEmpty, "\(deed.line)")
            }
            for name in names where access(mounts.toBob + "/" + name, F_OK) == 0 {
                try await wait(until: "\(name) says why it stays") {
                    try ExtendedAttribute.text("user.chatfs.error", of: mounts.toBob + "/" + name)?
                        .contains(deed.word) == true
                }
                #expect(try mounts.state(name) == "draft")
                #expect(status.contains(name), "\(name)")
            }
        }
        try await mounts.waitUntilQuiet()
        let arrived = try mounts.arrived().filter { !$0.hasPrefix("zz") && received[$0] == nil }
        #expect(Set(arrived) == Set(sent))
        // The user sends one by renaming it.
        let wanted = mounts.toBob + "/.xdp-report.txt-A1b2C3"
        #expect(try await ChatFSProcess.run(["retry", wanted]).succeeded)
        try await wait(until: "it has arrived") {
            try mounts.arrived().contains { $0.contains("xdp-report") }
        }
        for mount in [alice, bob] { #expect(try await mount.terminate() == .code(0)) }
    }

    /// A small document.
    private static let document = """
        %PDF-1.4
        1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
        2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
        3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>endobj
        trailer<</Root 1 0 R>>
        %%EOF

        """
}
