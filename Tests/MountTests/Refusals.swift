import Glibc
import Posix

/// The actions of the table "Refused". Each performs its row and returns the errno, 0 for success.
struct Refusals {
    private let stage: DemoStage

    init(_ stage: DemoStage) { self.stage = stage }

    /// `EPERM` for 1.
    static func name(of code: Int32) -> String {
        let names: [Int32: String] = [
            0: "nothing", EPERM: "EPERM", EACCES: "EACCES", EILSEQ: "EILSEQ", EFBIG: "EFBIG",
            ENAMETOOLONG: "ENAMETOOLONG", ENOENT: "ENOENT", ENODATA: "ENODATA", EOPNOTSUPP: "EOPNOTSUPP",
            EXDEV: "EXDEV", EIO: "EIO",
        ]
        return names[code] ?? "\(code)"
    }

    private var received: String { stage.path("bob/alice/hello.txt") }
    private var sent: String { stage.path("alice/bob/hello.txt") }
    private var chat: String { stage.path("bob/alice") }

    private func code(_ call: () -> Int32) -> Int32 {
        let result = call()
        let code = errno
        if result > 2 { close(result) }
        return result == -1 ? code : 0
    }

    private func create(_ path: String) -> Int32 { code { open(path, O_WRONLY | O_CREAT, 0o600) } }

    /// An open draft, which cannot have been sent.
    private func withDraft(_ name: String, _ body: (String, Int32) -> Int32) -> Int32 {
        let path = chat + "/" + name
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        defer {
            unlink(path)
            close(descriptor)
        }
        return descriptor < 0 ? errno : body(path, descriptor)
    }

    var deeds: [String: () -> Int32] {
        [
            "open a received file for writing": { code { open(received, O_WRONLY) } },
            "open a sent file for writing": { code { open(sent, O_RDWR) } },
            "truncate a received file": { code { truncate(received, 0) } },
            "make a received file writable": { code { chmod(received, 0o600) } },
            "rename a received file": { code { rename(received, chat + "/other.txt") } },
            "rename a draft onto a received file": {
                withDraft("onto.txt") { path, _ in code { rename(path, received) } }
            },
            "rename a draft into another chat": {
                withDraft("move.txt") { path, _ in code { rename(path, stage.path("bob/Book club/move.txt")) }
                }
            },
            "write a received file anew through NAME.part": { create(received + ".part") },
            "make a file .nomedia in a chat": { create(chat + "/.nomedia") },
            "remove a received file": { code { unlink(received) } },
            "create a file in the root": { create(stage.path("bob/new.txt")) },
            "create a file in the control folder": { create(stage.path("bob/.chatfs/new.txt")) },
            "make a hidden folder in a chat": { code { mkdir(chat + "/.folder", 0o700) } },
            "make a folder in the root": { code { mkdir(stage.path("bob/folder"), 0o700) } },
            "make a symbolic link in a chat": { code { symlink("hello.txt", chat + "/link") } },
            "make a hard link in a chat": { code { link(received, chat + "/link") } },
            "make a pipe in a chat": { code { mkfifo(chat + "/pipe", 0o600) } },
            "change the owner of a received file": { code { chown(received, getuid() + 1, getgid()) } },
            "create a name that is not UTF-8": {
                let name = Array((chat + "/").utf8) + [0xFF, 0xFE, 0]
                return name.withUnsafeBytes { bytes in
                    code {
                        open(
                            bytes.baseAddress!.assumingMemoryBound(to: CChar.self), O_WRONLY | O_CREAT, 0o600)
                    }
                }
            },
            "create a name of 256 bytes": { create(chat + "/" + String(repeating: "n", count: 256)) },
            "write past the largest size of a chat": {
                withDraft("huge.bin") { _, descriptor in
                    code { pwrite(descriptor, "x", 1, 1_073_741_824) == 1 ? 0 : -1 }
                }
            },
            "open a name that is not there": { code { open(chat + "/nobody.txt", O_RDONLY) } },
            "read an attribute that is not there": {
                errno = 0
                let value = try? ExtendedAttribute.value("user.chatfs.nothing", of: received)
                return value == .some(nil) ? ENODATA : 0
            },
            "set an attribute of a received file": {
                do throws(SystemError) {
                    try ExtendedAttribute.set("user.note", to: [1], of: received)
                    return 0
                } catch {
                    return error.code
                }
            },
            "make a file without a name (O_TMPFILE)": {
                code { open(chat, 0o20_000_000 | O_DIRECTORY | O_RDWR, 0o600) }
            },
            "execute a received file": { code { access(received, X_OK) } },
        ]
    }
}
