"""The verbs: one step per file, one public function per step. Decisions only: no Spark, no files, no clock."""
