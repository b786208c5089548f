/// The unit of a figure.
enum Unit: String, Sendable {
    /// 10^6 bytes per second.
    case megabytesPerSecond = "MB/s"
    case perSecond = "/s"
    case milliseconds = "ms"
    case microseconds = "µs"
    case seconds = "s"
    /// Processor seconds for 2^30 bytes.
    case secondsPerGibibyte = "CPU s/GiB"
    case mebibytes = "MiB"
    case chunks
    case requests

    /// Whether more is better.
    var isRate: Bool { self == .megabytesPerSecond || self == .perSecond }
}
