import CommandLineKit
import Desktop
import Posix

/// `chatfs debug`: counters, latencies and queue lengths of a mount.
enum DebugCommand {
    static let command = Command(
        "debug", "Show the counters and latencies of a mount.",
        discussion: """
            Lists the kernel's requests by operation: how many, how many without a reply so far, how many failed, \
            and within which time half, 90 and 99 of 100 had their reply. A time is rounded up to a power of two. \
            Then come the queues and the other counters. 'chatfs mount --metrics FILE' writes them for Prometheus.
            """,
        section: CommandSection.other, arguments: [CommonOptions.mountpoint],
        options: [ProgramConnection.json, CommonOptions.mount],
        examples: [Example("chatfs debug ~/Chats", "Find slow operations and long queues.")]
    ) { invocation in
        let mounted = try await Mounted.chosen(by: invocation)
        let client = try await ProgramConnection.client(of: mounted)
        let metrics = try await ThreadPool.shared.run { try client.metrics() }
        let lines =
            invocation[ProgramConnection.json]
            ? try metrics.map { try ProgramConnection.json($0) } : MetricsTable.lines(metrics)
        for line in lines { try Terminal.show(line) }
    }
}
