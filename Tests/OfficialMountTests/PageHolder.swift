import Glibc
import Posix
import TestSupport

/// A Python process that holds a file open and mapped.
final class PageHolder {
    private static let script = """
        import ctypes, errno, hashlib, mmap, os, sys
        descriptor = os.open(sys.argv[1], os.O_RDONLY)
        size = os.fstat(descriptor).st_size
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
        for line in sys.stdin:
            if line == "pages\\n":
                there = (ctypes.c_ubyte * (-(-size // mmap.PAGESIZE)))()
                if libc.mincore(ctypes.c_void_p(address), ctypes.c_size_t(size), there) != 0:
                    sys.exit(os.strerror(ctypes.get_errno()))
                print(sum(page & 1 for page in there), flush=True)
                continue
            try:
                content = b""
                while len(content) < size:
                    part = os.pread(descriptor, 1 << 20, len(content))
                    if not part: break
                    content += part
                print(hashlib.sha256(content).hexdigest(), flush=True)
            except OSError as error:
                print(errno.errorcode[error.errno], flush=True)
        """

    private let process: RunningProcess
    private var count = 0

    static func start(_ path: String) async throws -> PageHolder {
        var settings = ChildProcess.Settings(try Shell.find("python3"), ["-c", script, path])
        settings.input = .pipe
        return PageHolder(try await RunningProcess.start(settings))
    }

    private init(_ process: RunningProcess) { self.process = process }

    /// The SHA-256 of all readable bytes, or the name of the errno value.
    func read() async throws -> String { try await ask("read") }

    /// As `read`, but repeats after an error, because ChatFS remembers a failure for two seconds.
    func readAtLast() async throws -> String {
        try await wait(for: "bytes at last", within: .seconds(120)) {
            let answer = try await read()
            return answer.hasPrefix("E") ? nil : answer
        }
    }

    /// The number of pages in the page cache.
    func pages() async throws -> Int { Int(try await ask("pages")) ?? -1 }

    private func ask(_ question: String) async throws -> String {
        let line = Array("\(question)\n".utf8)
        guard write(process.child.input?.descriptor ?? -1, line, line.count) == line.count else {
            throw WaitedInVain("the reader takes no question: \(process.errors)")
        }
        count += 1
        return try await wait(for: "answer \(count) of the reader", within: .seconds(120)) {
            process.lines.count >= count ? process.lines[count - 1] : nil
        }
    }

    func end() async throws { try await process.terminate() }
}
