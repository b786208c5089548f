/// Figures of alternating subjects, one for each in every repetition.
struct SampleTable: Sendable {
    private var columns: [[Double]]

    init(subjects count: Int) { columns = Array(repeating: [], count: count) }

    /// - Parameter subject: The index of the subject from 0.
    mutating func add(_ figure: Double, of subject: Int) { columns[subject].append(figure) }

    /// Returns all figures of one subject, in the order of repetitions.
    subscript(subject: Int) -> [Double] { columns[subject] }
}
