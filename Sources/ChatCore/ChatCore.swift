/// Where the chats come from: the one seam between ChatFS and SimpleX. Vocabulary and behaviour are those of the
/// SimpleX chat API.
///
/// A core is all of these; who uses one names only the part that it needs:
///
/// | protocol | for |
/// |---|---|
/// | `ChatReading` | lists of chats and messages, and what changes |
/// | `MessageSending` | sending, and taking back |
/// | `FileTransferring` | the files of messages: receiving, fetching by chunks, cancelling |
/// | `StandaloneFileTransferring` | files that belong to no chat |
/// | `TextKeeping` | what people write beside files |
/// | `ChatManaging` | renaming, leaving and deleting chats |
/// | `ContactMaking` | becoming somebody's contact |
/// | `ConnectionListing` | every connection over the network, also those that lead nowhere |
/// | `AddressKeeping` | an address for everybody, and who asks at it |
/// | `LinkKeeping` | the folder of links |
///
/// What holds for all of them is the contract of `OpenProfile`.
public typealias ChatCore = ChatReading & MessageSending & FileTransferring & StandaloneFileTransferring
    & TextKeeping & ChatManaging & ContactMaking & ConnectionListing & AddressKeeping & LinkKeeping
