import Base
import Glibc
import Posix

/// Bytes on their way: through the mounts and by the file commands.
enum TransferMeasures {
    /// Copy into alice's folder until it is `sent`; then read bob's cold file from beginning to end.
    /// Native: write a file; read it after its pages were dropped.
    static func throughMount(_ stage: Stage, _ measure: Measure) async throws -> [Row] {
        var rows: [Row] = []
        for size in stage.plan.transferSizes {
            var (upload, plainWrite): ([Double], [Double]) = ([], [])
            var (download, plainRead): ([Double], [Double]) = ([], [])
            var (first, plainFirst): ([Double], [Double]) = ([], [])
            for repetition in 0..<stage.plan.repetitions {
                let name = "\(size >> 20)-\(repetition).bin"
                upload.append(try await Self.upload(stage, name, size).megabytesPerSecond(of: size))
                let plain = stage.plain(name)
                plainWrite.append(
                    try await onPool {
                        let start = ContinuousClock.now
                        try Work.write(plain, size: size, seed: UInt64(repetition))
                        return Work.seconds(since: start)
                    }.megabytesPerSecond(of: size))
                if measure == .download {
                    let path = stage.path("bob", "alice", name)
                    let cold = try await onPool { try Work.read(path) }
                    let native = try await onPool {
                        try Work.settle(plain)
                        return try Work.read(plain)
                    }
                    guard cold.sum == native.sum else {
                        throw BenchError("Bob read other bytes than alice wrote.")
                    }
                    download.append(cold.whole.megabytesPerSecond(of: size))
                    plainRead.append(native.whole.megabytesPerSecond(of: size))
                    first.append(cold.first * 1000)
                    plainFirst.append(native.first * 1000)
                }
                try await onPool { try check("remove a file") { unlink(plain) } }
            }
            let label = "\(size >> 20) MiB"
            if measure == .upload {
                rows.append(Row(.upload, "copy in until sent, \(label)", "MB/s", upload, native: plainWrite))
            } else {
                rows.append(Row(.download, "read cold, \(label)", "MB/s", download, native: plainRead))
                rows.append(Row(.download, "first byte cold, \(label)", "ms", first, native: plainFirst))
            }
        }
        return rows
    }

    /// Copies a file in at alice's and waits until its chunks are on the relay and bob can see it.
    /// Answers the seconds until `sent`.
    static func upload(_ stage: Stage, _ name: String, _ size: Int) async throws -> Double {
        let path = stage.path("alice", "bob", name)
        let seed = UInt64(name.filter(\.isNumber).suffix(1)) ?? 0
        let start = ContinuousClock.now
        try await onPool { try Work.write(path, size: size, seed: seed) }
        try await stage.wait(for: "the upload") {
            try ExtendedAttribute.text("user.chatfs.state", of: path) == "sent"
        }
        let seconds = Work.seconds(since: start)
        let received = stage.path("bob", "alice", name)
        try await stage.wait(for: "bob's entry") { access(received, F_OK) == 0 }
        return seconds
    }

    /// `chatfs file send` and `chatfs file receive`, the whole command, as the official `xftp` program is
    /// measured. Native: cp.
    static func byCommand(_ stage: Stage, _ measure: Measure) async throws -> [Row] {
        var rows: [Row] = []
        for size in stage.plan.transferSizes {
            var (samples, native): ([Double], [Double]) = ([], [])
            let source = stage.plain("source-\(size)")
            try await onPool { try Work.write(source, size: size, seed: 7) }
            for repetition in 0..<stage.plan.repetitions {
                let out = stage.plain("out-\(size)-\(repetition)")
                let copy = stage.plain("copy")
                var start = ContinuousClock.now
                try await Stage.run(["file", "send", source, "--relay", stage.relayAddress, "--out", out])
                if measure == .send { samples.append(Work.seconds(since: start)) }
                start = ContinuousClock.now
                try await Stage.run(["file", "receive", out + "/rcv1.xftp", "--out", copy])
                if measure == .receive { samples.append(Work.seconds(since: start)) }
                try await Stage.run(["file", "delete", out + "/snd.xftp.private"])
                let equal = try await onPool { try Work.read(source).sum == Work.read(copy).sum }
                guard equal else { throw BenchError("The received file has other bytes than the sent one.") }
                try await onPool { try check("remove a file") { unlink(copy) } }
                start = ContinuousClock.now
                let cp = try await ObservedProcess.start(ChildProcess.Settings("/bin/cp", [source, copy]))
                guard await cp.ending(within: .seconds(600)) == .code(0) else {
                    throw BenchError("cp failed.")
                }
                native.append(Work.seconds(since: start))
                try await onPool { try check("remove a file") { unlink(copy) } }
            }
            rows.append(
                Row(
                    measure, "chatfs file \(measure.rawValue), \(size >> 20) MiB", "MB/s",
                    samples.map { $0.megabytesPerSecond(of: size) },
                    native: native.map { $0.megabytesPerSecond(of: size) }))
        }
        return rows
    }

    /// Reads a file that was read before: from the kernel's pages, and after they were dropped from the
    /// daemon's sealed cache.
    static func reread(_ stage: Stage) async throws -> [Row] {
        let size = stage.plan.largeFile
        _ = try await upload(stage, "again-1.bin", size)
        let path = stage.path("bob", "alice", "again-1.bin")
        let plain = stage.plain("again-1.bin")
        try await onPool {
            _ = try Work.read(path)
            try Work.write(plain, size: size, seed: 1)
            try Work.settle(plain)
        }
        var (pages, plainPages): ([Double], [Double]) = ([], [])
        var (cache, plainDisk): ([Double], [Double]) = ([], [])
        for _ in 0..<stage.plan.repetitions {
            try await onPool { try Work.forget(path) }
            cache.append(try await onPool { try Work.read(path).whole }.megabytesPerSecond(of: size))
            try await onPool { try Work.forget(plain) }
            plainDisk.append(try await onPool { try Work.read(plain).whole }.megabytesPerSecond(of: size))
            pages.append(try await onPool { try Work.read(path).whole }.megabytesPerSecond(of: size))
            plainPages.append(try await onPool { try Work.read(plain).whole }.megabytesPerSecond(of: size))
        }
        let label = "\(size >> 20) MiB"
        return [
            Row(.reread, "read again, \(label), from kernel pages", "MB/s", pages, native: plainPages),
            Row(.reread, "read again, \(label), pages dropped", "MB/s", cache, native: plainDisk),
        ]
    }

    @discardableResult
    static func onPool<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
        -> Result
    {
        try await ThreadPool.shared.run(body)
    }
}
