//! A connection to a target, whichever database it is.

use lattice_core::error::{Error, ErrorKind, Result};

use crate::{
    config::Settings,
    layout::Slot,
    mysql::{self, Mysql},
    names::TableName,
    pile::Pile,
    postgres::{self, Postgres},
    reduce::Run,
    sqlite::{self, Sqlite},
    table::{Column, Table},
    url::{Address, Dialect},
    value::Meaning,
};

/// Why the database refused a statement.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A row is to blame.
    Row(Error),
    /// A deadlock or a conflict: the same may work a moment later.
    Again(Error),
    /// Anything else, by the error's kind.
    Other(Error),
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Row(error) | Failure::Again(error) | Failure::Other(error) => error,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Data => Self::Row(error),
            _ => Self::Other(error),
        }
    }
}

/// Rows of a query, as text.
pub(crate) type Rows = Vec<Vec<Option<String>>>;

/// A connection.
pub(crate) enum Target {
    Postgres(Box<Postgres>),
    Mysql(Box<Mysql>),
    Sqlite(Sqlite),
}

impl Target {
    /// Connects.
    ///
    /// Errors: `Config`, `Auth`, `Transient`.
    pub(crate) async fn connect(settings: &Settings) -> Result<Self> {
        match &settings.address {
            Address::Server(server) if server.dialect == Dialect::Postgres => {
                Ok(Self::Postgres(Box::new(Postgres::connect(server).await?)))
            }
            Address::Server(server) => Ok(Self::Mysql(Box::new(Mysql::connect(server).await?))),
            Address::File { path, parameters } => {
                Ok(Self::Sqlite(Sqlite::open(path, parameters).await?))
            }
        }
    }

    /// A table as it is; `None`: there is none. The name may differ from the wanted one in its case.
    pub(crate) async fn table(&mut self, name: &TableName) -> Result<Option<Table>> {
        match self {
            Self::Postgres(postgres) => postgres::catalog::table(postgres, name).await,
            Self::Mysql(mysql) => mysql::catalog::table(mysql, name).await,
            Self::Sqlite(sqlite) => sqlite::catalog::table(sqlite, name).await,
        }
    }

    /// The rows of a query.
    pub(crate) async fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        match self {
            Self::Postgres(postgres) => postgres.query(sql).await,
            Self::Mysql(mysql) => mysql.query(sql).await,
            Self::Sqlite(sqlite) => sqlite.query(sql).await,
        }
    }

    /// Runs a statement, and gives how many rows it changed.
    pub(crate) async fn execute(&mut self, sql: &str) -> Result<u64, Failure> {
        match self {
            Self::Postgres(postgres) => postgres.execute(sql).await,
            Self::Mysql(mysql) => mysql.execute(sql).await,
            Self::Sqlite(sqlite) => sqlite.execute(sql).await,
        }
    }

    /// Begins a transaction. `deferred`: constraints that can be are checked at its end.
    pub(crate) async fn begin(&mut self, deferred: bool) -> Result<(), Failure> {
        match self {
            Self::Postgres(postgres) => postgres.begin(deferred).await,
            Self::Mysql(mysql) => mysql.begin().await,
            Self::Sqlite(sqlite) => sqlite.begin(deferred).await,
        }
    }

    /// Marks a point in the transaction.
    pub(crate) async fn mark(&mut self) -> Result<(), Failure> {
        self.execute("SAVEPOINT lattice").await.map(drop)
    }

    /// Comes back to the point.
    pub(crate) async fn back(&mut self) -> Result<(), Failure> {
        self.execute("ROLLBACK TO SAVEPOINT lattice").await?;
        if let Self::Postgres(postgres) = self {
            postgres.forget_new_stages();
        }
        Ok(())
    }

    /// Does what a run says.
    pub(crate) async fn apply(
        &mut self,
        pile: &Pile,
        run: &Run,
        table: &Table,
    ) -> Result<(), Failure> {
        match self {
            Self::Postgres(postgres) => postgres::apply::apply(postgres, pile, run, table).await,
            Self::Mysql(mysql) => mysql::apply::apply(mysql, pile, run, table).await,
            Self::Sqlite(sqlite) => sqlite::apply::apply(sqlite, pile, run, table).await,
        }
    }

    /// Ends the transaction.
    pub(crate) async fn commit(&mut self) -> Result<(), Failure> {
        self.execute("COMMIT").await.map(drop)
    }

    /// Takes the transaction back.
    pub(crate) async fn rollback(&mut self) -> Result<(), Failure> {
        self.execute("ROLLBACK").await?;
        if let Self::Postgres(postgres) = self {
            postgres.forget_new_stages();
        }
        Ok(())
    }
}

impl Dialect {
    /// How values of this meaning go into a column.
    pub(crate) fn slot(self, column: &Column, meaning: &Meaning) -> Slot {
        match self {
            Self::Postgres => postgres::encode::slot(column, meaning),
            Self::Mysql => mysql::encode::slot(column, meaning),
            Self::Sqlite => sqlite::slot(column, meaning),
        }
    }

    /// The type of a new column; `key`: of the primary key.
    pub(crate) fn type_for(self, meaning: &Meaning, key: bool) -> String {
        match self {
            Self::Postgres => postgres::types::type_for(meaning),
            Self::Mysql => mysql::types::type_for(meaning, key),
            Self::Sqlite => sqlite::type_for(meaning),
        }
    }

    /// What stands after the columns of a new table.
    pub(crate) fn table_options(self) -> &'static str {
        match self {
            // Texts are alike only if they are the same; each server reads the comment that is for it.
            Self::Mysql => {
                " ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 /*!80017 COLLATE utf8mb4_0900_bin */ \
                 /*M!100202 COLLATE utf8mb4_nopad_bin */"
            }
            Self::Postgres | Self::Sqlite => "",
        }
    }

    /// The statement that gives a column another type; `table`: between quotes.
    pub(crate) fn alter_type(self, table: &str, column: &Column, kind: &str) -> String {
        let name = self.quoted(&column.name);
        match self {
            Self::Mysql => {
                let end = if column.nullable { "" } else { " NOT NULL" };
                format!("ALTER TABLE {table} MODIFY COLUMN {name} {kind}{end}")
            }
            Self::Postgres | Self::Sqlite => {
                format!("ALTER TABLE {table} ALTER COLUMN {name} TYPE {kind}")
            }
        }
    }

    /// The wider type that a column needs for all values of this meaning, if it is too narrow.
    pub(crate) fn wider(self, column: &Column, meaning: &Meaning) -> Option<String> {
        match self {
            Self::Postgres => postgres::types::wider(column, meaning),
            Self::Mysql => mysql::types::wider(column, meaning),
            // Columns hold values of any width.
            Self::Sqlite => None,
        }
    }

    /// A text between quotes.
    pub(crate) fn literal(self, text: &str) -> String {
        match self {
            Self::Mysql => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")),
            Self::Postgres | Self::Sqlite => format!("'{}'", text.replace('\'', "''")),
        }
    }
}
