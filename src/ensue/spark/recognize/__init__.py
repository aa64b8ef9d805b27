"""MATCH_RECOGNIZE over Spark DataFrames: each clause becomes a DataFrame, and Spark runs the SQL around it.

clauses_in_text  finds each clause in Spark's SQL, with the table before it and the queries that are named around it
sql_on_spark     puts the DataFrame of each clause in its place, and gives the rest of the text to Spark
clause_job       one clause over one DataFrame: what is checked before a job runs, and which columns travel
rows_from_files  whether the tasks of a batch read the files of the table themselves, and which task reads what
row_recipe       what a Python worker needs, over a finite DataFrame and over a stream
"""
