//! `etl.etl_pipeline_tasks`. They are read with their pipeline, see `pipelines`.

use serde_json::{Map, Value};
use sqlx::{PgConnection, types::Json};

use crate::domain::{PipelineId, Task, TaskKind};

pub async fn replace(tx: &mut PgConnection, pipeline: PipelineId, tasks: &[Task]) -> sqlx::Result<()> {
    sqlx::query!("delete from etl.etl_pipeline_tasks where pipeline_id = $1", pipeline as PipelineId)
        .execute(&mut *tx)
        .await?;
    for task in tasks {
        sqlx::query!(
            r#"
            insert into etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body, target_table, options)
            values ($1, $2, $3, $4, $5, $6)
            "#,
            pipeline as PipelineId,
            task.order_index,
            task.task_type as TaskKind,
            task.body,
            task.target_table,
            Json(&task.options) as Json<&Map<String, Value>>,
        )
        .execute(&mut *tx)
        .await?;
    }
    Ok(())
}
