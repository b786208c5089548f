import Posix

/// The same file through rclone and from a chat, cold and again.
struct RcloneMeasure: Measure {
    let name = "rclone"
    let abstract = "cold and repeated read beside rclone mount over WebDAV"

    private static let rereads = 3

    func take(on stage: Stage) async throws -> [Row] {
        let webdav = try await Rclone.serve(stage.path("plain"), on: stage)
        let file = try await SentFile.send(
            "large.bin", size: stage.plan.largeFile, seed: 4, members: stage.plan.repetitions, on: stage)
        var (cold, again) = (SampleTable(subjects: 2), SampleTable(subjects: 2))
        for (number, member) in file.members.enumerated() {
            let mounts = [try await file.mount(member), try await webdav.mount(number)]
            let paths = [file.path(on: mounts[0]), mounts[1].file("large.bin")]
            var sums: Set<UInt64> = []
            for (subject, path) in paths.enumerated() {
                try await stage.settleWithMemory()
                let reading = try await ThreadPool.shared.run { try FileWork.read(path) }
                cold.add(reading.whole.megabytesPerSecond(of: file.size), of: subject)
                sums.insert(reading.sum)
            }
            guard sums.count == 1 else {
                throw BenchError(.wrong, "The two mounts gave different bytes.")
            }
            for mount in mounts { try await mount.figures.rest(on: stage) }
            try await stage.settle()
            // Several: the first one also makes the kernel move all pages to its active list.
            for _ in 0..<Self.rereads {
                for (subject, path) in paths.enumerated() {
                    let seconds = try await ThreadPool.shared.run { try FileWork.read(path).whole }
                    again.add(seconds.megabytesPerSecond(of: file.size), of: subject)
                }
            }
            for mount in mounts.reversed() { await stage.end(mount.process) }
        }
        return rows("\(file.size >> 20) MiB", cold, again)
    }

    private func rows(_ label: String, _ cold: SampleTable, _ again: SampleTable) -> [Row] {
        [
            Row(
                "cold-read", "cold sequential read of \(label)", .megabytesPerSecond, cold[0],
                beside: Reference(Rclone.name, cold[1]), target: .ratioAtLeast(1)),
            Row(
                "reread", "warm re-read of \(label)", .megabytesPerSecond, again[0],
                beside: Reference(Rclone.name, again[1]), target: .ratioAtLeast(9)),
        ]
    }
}
