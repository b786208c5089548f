/// The amounts of work.
struct Plan: Sendable {
    /// The working folder.
    let folder: String
    let isQuick: Bool
    let repetitions: Int
    /// The folder with `xftp` and `xftp-server`, if there is one.
    let official: String?

    /// The largest file of a chat.
    var hugeFile: Int { isQuick ? 128 << 20 : 1 << 30 }
    var largeFile: Int { isQuick ? 64 << 20 : 256 << 20 }
    /// A file too small for a steady rate, and a large one.
    var transferFiles: [Int] { isQuick ? [4 << 20, 16 << 20] : [16 << 20, 256 << 20] }
    /// Also for official programs: the largest of these for which there is time.
    var officialFiles: [Int] { isQuick ? [16 << 20] : [256 << 20, 64 << 20] }
    var entries: Int { isQuick ? 1000 : 10_000 }
    /// The files and chats of long histories.
    var histories: [(files: Int, chats: Int)] {
        isQuick ? [(1000, 20)] : [(10_000, 20), (100_000, 200), (1_000_000, 2000)]
    }
    /// The number of contacts on the network.
    var contacts: [Int] { isQuick ? [100] : [100, 10_000] }
    var waitingReaders: Int { 100 }
    var smallFiles: Int { 200 }
    var randomReads: Int { isQuick ? 5000 : 50_000 }
}
