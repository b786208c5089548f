/// What a figure counts.
enum Unit: String, Sendable {
    /// 10^6 bytes a second.
    case megabytesPerSecond = "MB/s"
    case perSecond = "/s"
    case milliseconds = "ms"
    case microseconds = "µs"
    case seconds = "s"
    /// Seconds of processor time for 2^30 bytes.
    case secondsPerGibibyte = "CPU s/GiB"
    case mebibytes = "MiB"
    case chunks
    case requests
    /// Of threads that slept.
    case awakenings = "wake-ups"

    /// More is better.
    var isRate: Bool { self == .megabytesPerSecond || self == .perSecond }
}
