/// Which names of a folder something has that is not in this tree: nothing here gets them as long as that is so. Asked
/// within a change of the tree; it must be quick, wait for nothing, and not change names itself.
public struct NameReservation: Sendable {
    let holds: @Sendable (_ name: EntryName, _ folder: NodeID) -> Bool

    public init(holds: @escaping @Sendable (_ name: EntryName, _ folder: NodeID) -> Bool) {
        self.holds = holds
    }
}
