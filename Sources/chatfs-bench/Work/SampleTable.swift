/// Figures of several subjects that take turns, one for each in every repetition.
struct SampleTable: Sendable {
    private var columns: [[Double]]

    init(subjects count: Int) { columns = Array(repeating: [], count: count) }

    /// - Parameter subject: from 0.
    mutating func add(_ figure: Double, of subject: Int) { columns[subject].append(figure) }

    /// All of one subject, in the order of the repetitions.
    subscript(subject: Int) -> [Double] { columns[subject] }
}
