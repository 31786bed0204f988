//! The requests that we send, and the newest version of each that we speak.
//!
//! A broker must know some version from the message's oldest up to ours; Kafka 2.1 to 4 do.

use kafka_protocol::{
    messages::*,
    protocol::{Decodable, Encodable, HeaderVersion, Message},
};

/// A request with the newest version in which our code fills it.
pub(crate) trait Api: Message + Encodable + HeaderVersion {
    /// What is answered.
    type Response: Decodable + HeaderVersion;
    /// Its number.
    const KEY: i16;
    /// Later versions have other fields (topic ids for names, batched forms) that gain us nothing.
    const NEWEST: i16;
    /// Its name, for errors.
    const NAME: &'static str;
}

macro_rules! apis {
    ($($name:ident: $request:ident -> $response:ident up to $newest:literal;)*) => {
        $(impl Api for $request {
            type Response = $response;
            const KEY: i16 = ApiKey::$name as i16;
            const NEWEST: i16 = $newest;
            const NAME: &'static str = stringify!($name);
        })*
    };
}

apis! {
    ApiVersions: ApiVersionsRequest -> ApiVersionsResponse up to 0;
    SaslHandshake: SaslHandshakeRequest -> SaslHandshakeResponse up to 1;
    SaslAuthenticate: SaslAuthenticateRequest -> SaslAuthenticateResponse up to 1;
    Metadata: MetadataRequest -> MetadataResponse up to 9;
    // 12 begins the transactions of KIP-890's second part.
    Produce: ProduceRequest -> ProduceResponse up to 11;
    // 13 names topics by id.
    Fetch: FetchRequest -> FetchResponse up to 12;
    ListOffsets: ListOffsetsRequest -> ListOffsetsResponse up to 7;
    InitProducerId: InitProducerIdRequest -> InitProducerIdResponse up to 4;
    // From 4 on they are for brokers among themselves.
    AddPartitionsToTxn: AddPartitionsToTxnRequest -> AddPartitionsToTxnResponse up to 3;
    EndTxn: EndTxnRequest -> EndTxnResponse up to 3;
    FindCoordinator: FindCoordinatorRequest -> FindCoordinatorResponse up to 3;
    OffsetCommit: OffsetCommitRequest -> OffsetCommitResponse up to 8;
    OffsetFetch: OffsetFetchRequest -> OffsetFetchResponse up to 7;
    OffsetDelete: OffsetDeleteRequest -> OffsetDeleteResponse up to 0;
    // 8 adds reasons, 9 the right of a leader to skip its work.
    JoinGroup: JoinGroupRequest -> JoinGroupResponse up to 7;
    SyncGroup: SyncGroupRequest -> SyncGroupResponse up to 5;
    Heartbeat: HeartbeatRequest -> HeartbeatResponse up to 4;
    LeaveGroup: LeaveGroupRequest -> LeaveGroupResponse up to 4;
    DeleteGroups: DeleteGroupsRequest -> DeleteGroupsResponse up to 2;
    ListGroups: ListGroupsRequest -> ListGroupsResponse up to 3;
    CreateTopics: CreateTopicsRequest -> CreateTopicsResponse up to 6;
    DeleteTopics: DeleteTopicsRequest -> DeleteTopicsResponse up to 5;
    DescribeConfigs: DescribeConfigsRequest -> DescribeConfigsResponse up to 3;
    DescribeLogDirs: DescribeLogDirsRequest -> DescribeLogDirsResponse up to 2;
}
