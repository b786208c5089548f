import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing

@Suite("Metrics of a mount", .serialized)
struct MetricsTests {
    private struct Family: Decodable {
        struct Sample: Decodable {
            var labels: [String: String]
            var value: UInt64?
        }

        var name: String
        var samples: [Sample]
    }

    /// Requests by operation, from `chatfs debug --json`.
    private static func requests(_ mountpoint: String) async throws -> [String: UInt64] {
        let outcome = try await ChatFSProcess.run(["debug", mountpoint, "--json"])
        guard outcome.succeeded else { throw WaitedInVain("chatfs debug: \(outcome.errors)") }
        let families = try outcome.output.split(separator: "\n").map {
            try JSONDecoder().decode(Family.self, from: Data($0.utf8))
        }
        let samples = families.first { $0.name == "chatfs_requests" }?.samples ?? []
        return Dictionary(
            uniqueKeysWithValues: samples.map { ($0.labels["operation"] ?? "", $0.value ?? 0) })
    }

    private static func document(_ mounts: TwoMounts) throws -> OpenMetricsDocument {
        try OpenMetricsDocument(String(decoding: try mounts.read("metrics"), as: UTF8.self))
    }

    @Test("a read raises the counters in both places")
    func reading() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        try await mounts.mount("bob", ["--metrics", mounts.path("metrics")])
        _ = try Self.document(mounts)
        let before = try await Self.requests(mounts.path("bob"))
        let bytes = TwoMounts.bytes(300_000)
        try await mounts.send(bytes, as: "film.bin")
        #expect(try mounts.read("bob/alice/film.bin") == bytes)
        let after = try await Self.requests(mounts.path("bob"))
        for operation in ["lookup", "open", "read"] {
            #expect(after[operation] ?? 0 > before[operation] ?? 0, "\(operation): \(before), \(after)")
        }
        let table = try await ChatFSProcess.run(["debug", mounts.path("bob")])
        #expect(table.succeeded && table.errors == "", "\(table.errors)")
        #expect(table.output.contains(#/(?m)^operation +requests +pending +failed/#), "\(table.output)")
        #expect(table.output.contains(#/(?m)^read +[0-9]+ +0 +0 +[0-9.]+ (µs|ms|s) /#), "\(table.output)")
        #expect(table.output.contains(#/(?m)^outbox files state=queued +0$/#), "\(table.output)")

        #expect(try await mounts.leave("bob") == .code(0))
        let document = try Self.document(mounts)
        for operation in ["lookup", "open", "read"] {
            let count = document.values["chatfs_requests_total{operation=\"\(operation)\"}"] ?? 0
            #expect(count >= Double(after[operation] ?? 1), "\(operation): \(document.values)")
            let durations = document.values[
                "chatfs_request_duration_seconds_count{operation=\"\(operation)\"}"]
            #expect(durations ?? 0 > 0)
        }
        #expect(try OpenFile(mounts.path("metrics"), flags: O_RDONLY).status().st_mode & 0o777 == 0o600)
        let text = String(decoding: try mounts.read("metrics"), as: UTF8.self)
        for word in ["film", "alice", "bob", "127.0.0.1", "localhost"] {
            #expect(!text.contains(word), "\(word)")
        }
    }

    @Test("a metrics file that cannot be written ends the mount")
    func unwritable() async throws {
        let mounts = try await TwoMounts.start(mounting: [])
        let path = mounts.path("none/metrics")
        let outcome = try await ChatFSProcess.run(
            mounts.arguments(toMount: "bob", ["--metrics", path]))
        #expect(outcome.ending == .code(1) && outcome.errors.contains(path), "\(outcome.errors)")
        let inside = try await ChatFSProcess.run(
            mounts.arguments(toMount: "bob", ["--metrics", mounts.path("bob/metrics")]))
        #expect(inside.ending == .code(64), "\(inside.errors)")
    }
}
