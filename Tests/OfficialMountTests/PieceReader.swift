import Glibc
import Posix
import TestSupport

/// A Python process that holds a file open and reads ranges of it on request.
final class PieceReader {
    private static let script = """
        import errno, hashlib, os, sys
        descriptor = os.open(sys.argv[1], os.O_RDONLY)
        for line in sys.stdin:
            start, length = map(int, line.split())
            try:
                piece = b""
                while len(piece) < length:
                    part = os.pread(descriptor, length - len(piece), start + len(piece))
                    if not part: break
                    piece += part
                print(hashlib.sha256(piece).hexdigest(), flush=True)
            except OSError as error:
                print(errno.errorcode[error.errno], flush=True)
        """

    private let process: RunningProcess
    private var count = 0

    static func start(_ path: String) async throws -> PieceReader {
        var settings = ChildProcess.Settings(try Shell.find("python3"), ["-c", script, path])
        settings.input = .pipe
        return PieceReader(try await RunningProcess.start(settings))
    }

    private init(_ process: RunningProcess) { self.process = process }

    /// The SHA-256 of the range, or the name of the errno value.
    func read(_ range: Range<Int>) async throws -> String {
        let line = Array("\(range.lowerBound) \(range.count)\n".utf8)
        guard write(process.child.input?.descriptor ?? -1, line, line.count) == line.count else {
            throw WaitedInVain("the reader takes no question: \(process.errors)")
        }
        count += 1
        return try await wait(for: "answer \(count) of the reader", within: .seconds(120)) {
            process.lines.count >= count ? process.lines[count - 1] : nil
        }
    }

    /// Ends the process, which closes the file.
    func end() async throws { try await process.terminate() }

    /// As `read`, but repeats after an error, because ChatFS remembers a failure for two seconds.
    func readAtLast(_ range: Range<Int>) async throws -> String {
        try await wait(for: "bytes at last", within: .seconds(120)) {
            let answer = try await read(range)
            return answer.hasPrefix("E") ? nil : answer
        }
    }
}
