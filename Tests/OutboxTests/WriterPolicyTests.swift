import Posix
import Testing

@testable import Outbox

@Suite struct WriterPolicyTests {
    private func program(_ words: String, _ policy: WriterPolicy = WriterPolicy()) -> WriterProgram {
        let arguments = words.split(separator: " ").map(String.init)
        return policy.program(Caller(executable: arguments[0], arguments: arguments))
    }

    @Test(arguments: [
        ("/usr/bin/wget -c http://x/y", WriterKind.resuming), ("/usr/bin/curl", .resuming),
        ("/usr/bin/aria2c", .resuming), ("/usr/bin/python3 /usr/bin/yt-dlp x", .resuming),
        ("/usr/bin/python3 -m yt_dlp x", .resuming), ("/usr/bin/rsync", .resuming),
        ("/usr/bin/lftp", .resuming),
        ("/usr/lib/openssh/sftp-server", .serving), ("/usr/bin/scp -t x", .serving),
        ("/usr/sbin/smbd", .closing),
        ("/usr/sbin/nginx", .serving), ("/bin/cp a b", .copying), ("/usr/bin/gio copy", .copying),
        ("/usr/bin/nautilus", .copying), ("/usr/lib/kf6/kioworker file", .copying),
        ("/usr/bin/mv a b", .copying),
        ("/usr/bin/vim", .ordinary),
        ("/usr/lib/firefox/firefox", .ordinary),
        ("/usr/bin/python3 copy.py", .scripted),
        ("/usr/bin/perl -e print", .scripted), ("/usr/bin/python3", .ordinary),
        ("/bin/sh copy.sh", .ordinary),
        ("/usr/bin/python3 /usr/bin/meld a b", .ordinary),
        ("/usr/bin/python3 -m ipykernel_launcher -f x", .ordinary), ("/usr/bin/ssh host", .ordinary),
    ])
    func kinds(words: String, kind: WriterKind) { #expect(program(words).kind == kind, "\(words)") }

    @Test(arguments: [["wget", "http://x/y"], ["busybox", "wget", "http://x/y"], ["/bin/busybox", "wget"]])
    func busyboxIsKnownByItsCalledName(words: [String]) {
        let caller = Caller(executable: "/bin/busybox", arguments: words)
        #expect(caller.needsArguments)
        #expect(WriterPolicy().program(caller) == WriterProgram("wget", .resuming))
        let copy = Caller(executable: "/usr/bin/coreutils", arguments: ["cp", "a", "b"])
        #expect(copy.needsArguments && WriterPolicy().program(copy) == WriterProgram("cp", .copying))
        #expect(
            !Caller(executable: "/bin/cp").needsArguments
                && Caller(executable: "/usr/bin/python3.11").needsArguments)
    }

    @Test func configurationAddsPrograms() throws {
        let policy = WriterPolicy(
            resuming: try ["fetch-*", "/opt/get"].map { try #require(ProgramPattern($0)) })
        #expect(program("/usr/bin/fetch-film", policy).kind == .resuming)
        #expect(
            program("/opt/get", policy).kind == .resuming && program("/usr/bin/get", policy).kind == .ordinary
        )
        #expect(program("/usr/bin/sftp-server", policy).kind == .serving)
    }

    @Test func tablesHaveValidDistinctPatterns() {
        let kinds = WriterKind.table.flatMap(\.programs)
        let statuses = StatusMeaning.table.flatMap(\.programs)
        for names in [kinds, statuses] {
            #expect(names.allSatisfy { ProgramPattern($0) != nil })
            #expect(Set(names).count == names.count)
        }
    }

    @Test func reasonsSurviveTheJournal() {
        let reasons: [HoldReason] = [
            .failedRead("cp"), .stateFile, .besideStateFile, .signal("a b", number: 9), .interrupted("dd"),
            .status("curl", 18), .lostConnection("scp"), .refusedRename("A program"), .running("wget"),
            .sidecar, .part, .unsaved,
        ]
        for reason in reasons {
            #expect(HoldReason(journalText: reason.journalText) == reason)
            #expect(reason.sentence.contains("chatfs retry sends it as it is, chatfs cancel discards it."))
        }
        for text in [
            "", "wanted", "read", "read ", "signal x dd", "signal 9", "status 99999999999 x", "state of x",
            "sidecar x",
        ] {
            #expect(HoldReason(journalText: text) == nil, "\(text)")
        }
    }

    @Test func stateFilesAreFoundByName() {
        let name = { (text: String) in Array(text.utf8) }
        #expect(StateFileName.about(name("a.iso")).contains(name("a.iso.aria2")))
        for suffix in [".aria2", ".st", ".lftp-pget-status", ".ytdl"] {
            #expect(StateFileName.subject(of: name("a.iso" + suffix)) == name("a.iso"))
        }
        #expect(
            StateFileName.subject(of: name(".st")) == nil && StateFileName.subject(of: name("a.iso")) == nil)
    }
}
