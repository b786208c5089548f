import Testing

@testable import FileSystem
@testable import Posix

@Suite("Caller policy")
struct CallerPolicyTests {
    private static func caller(_ commandLine: String, of executable: String? = nil) -> Caller {
        let words = commandLine.split(separator: " ").map(String.init)
        return Caller(executable: executable ?? words[0], arguments: words)
    }

    private static let kde = "/usr/lib/x86_64-linux-gnu/libexec/kf5/kioslave5"

    static let known: [(Caller, CallerKind)] = [
        (caller("/usr/lib/x86_64-linux-gnu/tumbler-1/tumblerd"), .thumbnailer),
        (caller("/usr/bin/gdk-pixbuf-thumbnailer -s 256 file:///a.jpg /tmp/a.png"), .thumbnailer),
        (caller("ffmpegthumbnailer -i a -o b", of: "/usr/bin/ffmpegthumbnailer"), .thumbnailer),
        (caller("/usr/bin/totem-video-thumbnailer -s 128 a b"), .thumbnailer),
        (caller("/usr/bin/evince-thumbnailer -s 128 a b"), .thumbnailer),
        (caller("/usr/bin/glycin-thumbnailer -i a -o b"), .thumbnailer),
        (caller("\(kde) /usr/lib/qt5/plugins/kf5/kio/thumbnail.so thumbnail  local:/run/a"), .thumbnailer),
        (
            caller("/usr/libexec/kf6/kioworker /usr/lib/qt6/plugins/kf6/kio/thumbnail.so thumbnail"),
            .thumbnailer
        ),
        (caller("/usr/bin/new-thing -i /tmp/gnome-desktop-file-to-thumbnail.jpg"), .thumbnailer),
        (caller("/usr/bin/new-thing file:///tmp/gnome-desktop-file-to-thumbnail.pdf"), .thumbnailer),
        (caller("/usr/bin/baloo_file_extractor"), .indexer),
        (caller("/usr/libexec/tracker-extract-3 --socket-fd 3"), .indexer),
        (caller("/usr/libexec/localsearch-extractor-3"), .indexer),
        (caller("/usr/bin/recollindex -m"), .indexer),
        (caller("/usr/bin/clamscan -r /home"), .scanner),
        (caller("/usr/bin/restic backup /home"), .backup),
        (caller("/usr/bin/python3 /usr/bin/borg create repo::a /home", of: "/usr/bin/python3.11"), .backup),
        (caller("/usr/bin/python3 -I -m borg create", of: "/usr/bin/python3.11"), .backup),
        (caller("file -b --mime-type a", of: "/usr/bin/file"), .sniffer),
        (caller("/usr/bin/perl -w /usr/bin/mimetype a", of: "/usr/bin/perl"), .sniffer),
    ]

    @Test("background programs are known by executable", arguments: known)
    func kinds(caller: Caller, kind: CallerKind) {
        let verdict = CallerPolicy().verdict(on: caller)
        #expect(verdict.kind == kind)
        #expect(verdict.access == (kind == .sniffer ? .beginning : .none))
    }

    static let served = [
        caller("cp -a /mnt/a /tmp", of: "/usr/bin/cp"), caller("/usr/bin/rsync -a /mnt/ /tmp"),
        caller("/usr/bin/gio copy a b"), caller("/usr/bin/nautilus --gapplication-service"),
        caller("\(kde) /usr/lib/qt5/plugins/kf5/kio/file.so file  local:/run/a"),
        caller("\(kde) /usr/lib/qt5/plugins/kf5/kio/file.so file thumbnail.sorted local:/run/a"),
        caller("/usr/bin/python3 /home/ada/borg-notes.py", of: "/usr/bin/python3.11"),
        caller("/usr/bin/python3 -c file.read() borg", of: "/usr/bin/python3.11"),
        caller("/usr/bin/mpv film.mkv"), caller("/usr/bin/file-roller a.zip"),
        caller("/usr/bin/cat tumblerd"), caller("/usr/bin/cat /opt/borg"),
        Caller(executable: "/", arguments: []),
        Caller(executable: "", arguments: ["tumblerd"]), Caller(executable: "/usr/bin/python3"),
    ]

    @Test("copy tools and viewers are always served", arguments: served)
    func copyToolsAreServed(caller: Caller) {
        #expect(CallerPolicy().verdict(on: caller) == CallerPolicy.Verdict(access: .full, kind: nil))
    }

    @Test("thumbnailers fetch briefly if previews permit it")
    func previews() {
        let tumbler = Self.caller("/usr/lib/tumblerd")
        for (mode, access) in [
            (PreviewMode.message, CallerPolicy.Access.none), (.fetch, .impatient), (.none, .none),
        ] {
            #expect(CallerPolicy(previews: mode).verdict(on: tumbler).access == access)
        }
        let indexer = Self.caller("/usr/bin/baloo_file_extractor")
        #expect(CallerPolicy(previews: .fetch).verdict(on: indexer).access == .none)
    }

    @Test("the longest user rule precedes the table")
    func rules() throws {
        let policy = CallerPolicy(
            refused: try ["mpv*", "kioworker:file.so", "/opt/viewer/bin/*"].map {
                try #require(ProgramPattern($0))
            },
            allowed: try ["mpvpaper", "restic", "tumblerd", "file"].map { try #require(ProgramPattern($0)) })
        let table: [(String, CallerPolicy.Access, CallerKind?)] = [
            ("/usr/bin/mpv a", .none, .named), ("/usr/bin/mpvpaper a", .full, nil),
            ("/usr/bin/restic backup", .full, .backup), ("/usr/bin/tumblerd", .impatient, .thumbnailer),
            ("/usr/bin/file a", .full, .sniffer), ("/usr/bin/clamscan a", .none, .scanner),
            ("/usr/libexec/kioworker /usr/lib/kio/file.so", .none, .named),
            ("/opt/viewer/bin/main a", .none, .named), ("/usr/bin/viewer a", .full, nil),
        ]
        for (line, access, kind) in table {
            let verdict = policy.verdict(on: Self.caller(line))
            #expect(verdict.access == access && verdict.kind == kind, "\(line)")
        }
    }

    @Test("a rule needs a name before its colon")
    func malformedRules() {
        for text in ["", ":", ":word", "name:"] { #expect(ProgramPattern(text) == nil, "\(text)") }
        for text in ["name", "name:word", "*", "*:word", "/a/b", "a:b:c"] {
            #expect(ProgramPattern(text) != nil, "\(text)")
        }
    }

    @Test("a star matches any characters")
    func globs() {
        let fitting = [
            ("", ""), ("*", ""), ("*", "abc"), ("a*", "a"), ("a*c", "abbc"), ("a*c", "ac"), ("*b*", "abc"),
            ("a*b*c", "aXbYbZc"), ("**", "a"), ("é*", "éa"),
        ]
        let others = [("", "a"), ("a", "ab"), ("a*a", "a"), ("a*b*a", "aa"), ("*b", "ba"), ("a*b*c", "acb")]
        for (glob, text) in fitting { #expect(Glob(glob).fits(text), "\(glob) \(text)") }
        for (glob, text) in others { #expect(!Glob(glob).fits(text), "\(glob) \(text)") }
    }

    @Test("the table is valid and free of duplicates")
    func table() {
        let all = CallerKind.table.flatMap(\.programs)
        #expect(all.allSatisfy { ProgramPattern($0) != nil })
        #expect(Set(all).count == all.count)
        // For local files only workers with several purposes need their command line.
        #expect(CallerPolicy.dependsOnArguments(Self.kde))
        #expect(!CallerPolicy.dependsOnArguments("/usr/bin/cat"))
    }
}
