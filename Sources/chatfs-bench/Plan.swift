/// How much is measured.
struct Plan: Sendable {
    /// Where to work.
    let folder: String
    let isQuick: Bool
    let repetitions: Int
    /// The folder with `xftp` and `xftp-server`, if there is one.
    let official: String?

    /// The largest file that a chat carries.
    var hugeFile: Int { isQuick ? 128 << 20 : 1 << 30 }
    var largeFile: Int { isQuick ? 64 << 20 : 256 << 20 }
    /// A file that is over before anything has settled, and one that is not.
    var transferFiles: [Int] { isQuick ? [4 << 20, 16 << 20] : [16 << 20, 256 << 20] }
    /// What goes through official programs too: the largest of these for which they leave time.
    var officialFiles: [Int] { isQuick ? [16 << 20] : [256 << 20, 64 << 20] }
    var entries: Int { isQuick ? 1000 : 10_000 }
    /// Files and chats of long histories.
    var histories: [(files: Int, chats: Int)] {
        isQuick ? [(1000, 20)] : [(10_000, 20), (100_000, 200), (1_000_000, 2000)]
    }
    /// How many people on the network a profile has.
    var contacts: [Int] { isQuick ? [100] : [100, 10_000] }
    var arrivals: Int { isQuick ? 10 : 200 }
    var waitingReaders: Int { 100 }
    var smallFiles: Int { 200 }
    var randomReads: Int { isQuick ? 5000 : 50_000 }
}
